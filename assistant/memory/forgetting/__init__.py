"""The only code that deletes a person's words on request. Requests pass through these modules:

    resolver    turns a request into a plan (`selection`, `answer_origins`, `attribution`)
    executor    hides the items in the plan, undoes that, and starts the purge after the grace time
    purge       deletes these items and everything based on them (`cascade`, `redaction`) from every
                location
    verify      searches every file (`data_inventory`) and location for the deleted words
                (`pattern_search`), and issues a receipt (`receipts`)

At startup, `purge_due_at_start` purges what is due before anything is read; `audit` verifies on
demand.
"""
