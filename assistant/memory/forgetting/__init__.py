"""The only way by which anything is deleted: resolve, hide, purge, verify, receipt."""
