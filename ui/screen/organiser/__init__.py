"""The tab with timers, alarms, reminders, lists and notes."""
