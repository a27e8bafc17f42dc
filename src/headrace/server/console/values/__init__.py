"""What pages show: plain, frozen values."""
