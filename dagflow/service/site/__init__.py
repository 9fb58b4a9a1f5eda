"""What is known of the site: read from a site file, or from recorded runs."""
