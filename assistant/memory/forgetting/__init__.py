"""The only way by which a person's words are deleted on request. One direction, whoever asks:

    resolver    what a request means (`selection`, `answer_origins`, `attribution`): a plan
    executor    hides it, undoes that, and has it purged when the time is over
    purge       deletes it and what rests on it (`cascade`, `redaction`) from every location
    verify      searches every location for it (`pattern_search`): a receipt (`receipts`)

Before a start reads anything, `startup` purges what is due; `audit` verifies on demand.
"""
