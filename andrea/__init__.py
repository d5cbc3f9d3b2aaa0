"""Small language models grown from many text sources under a bandit curriculum."""

import os

# Threads of torch's OpenMP spin while they wait for each other. Where another process wants the
# core, unlimited spinning slows training about fivefold; a short spin costs some 6 % on an idle
# machine (docs/decisions.md). Read once, when torch is first imported.
os.environ.setdefault("GOMP_SPINCOUNT", "20000")
