#!/bin/sh
# SSH_ASKPASS names this file: ssh runs it with its question as the only argument and reads the answer from its output.
# The runtime is the app's own executable, as plain Node; none has to be installed.
ELECTRON_RUN_AS_NODE=1
export ELECTRON_RUN_AS_NODE
exec "$ROLLCALL_ASKPASS_RUNTIME" "${0%/*}/askpass.js" "$@"
