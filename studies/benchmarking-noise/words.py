"""Counts and sorts words: dictionaries, sets and strings, as scripts use them."""

import collections

letters = "etaoinshrdlu"
# A generator of our own: `random` costs as much to import as a fifth of the work.
state = 2015
words = []
for _ in range(30_000):
    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    words.append(letters[state >> 60 & 7] + letters[state >> 40 & 7] + letters[state >> 50 & 7] + str(state >> 58))

counts = collections.Counter(words)
pairs = {word: word[::-1] for word in counts}
common = {word for word in pairs.values() if word in counts or len(word) > 4}
assert sorted(counts.items(), key=lambda item: (-item[1], item[0]))[0][1] > 1
assert len(common) > 100
