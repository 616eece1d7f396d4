"""`assistant memory`: browse, change and forget memories."""
