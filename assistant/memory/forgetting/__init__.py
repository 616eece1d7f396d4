"""The only code that deletes a person's words on request. Requests pass through these modules:

    resolver    what a request means (`selection`, `answer_origins`, `attribution`): a plan
    executor    hides it, undoes that, and starts the purge after the grace time
    purge       deletes it and what is based on it (`cascade`, `redaction`) from every location
    verify      searches every file (`data_inventory`) and location for it (`pattern_search`), and
                issues a receipt (`receipts`)

Before a start reads anything, `purge_due_at_start` purges what is due; `audit` verifies on demand.
"""
