"""Hearing and speaking. `hearing` finds the user's turns in the sound and transcribes them.
`speaking` turns an answer into sound, clause by clause."""
