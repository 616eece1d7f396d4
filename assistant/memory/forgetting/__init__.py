"""The only code that deletes a person's words on request. These modules handle a request in turn:

    resolver    turns a request into a plan (`selection`, `answer_origins`, `attribution`)
    executor    hides the items in the plan, brings them back on request, and starts the purge when
                the grace period is over
    purge       deletes the items and everything based on them (`cascade`, `redaction`) from every
                location
    verify      searches every file (`data_inventory`) and location for the deleted words
                (`pattern_search`), and issues a receipt (`receipts`)

At startup, `purge_due_at_start` purges the items whose grace period is over, before anything is
read. On demand, `audit` searches for traces again.
"""
