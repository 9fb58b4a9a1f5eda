"""Where untrusted text can go: labels on values, from where they come from to where they end."""
