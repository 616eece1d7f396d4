"""The tab with timers, alarms, reminders, forms, plans, lists and notes."""
