"""The memory tab: browse, change and forget memories."""
