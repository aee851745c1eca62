# To be sourced by scripts that start processes of their own.

# end_process PID [SIGNAL]: ends a child and waits until it is gone. Fails, and says so, when it had
# ended by itself or ends in another way than by the signal or with 0.
end_process() {
  local pid=$1 signal=${2:-TERM} status=0
  kill "-$signal" "$pid" 2>/dev/null || echo "process $pid had ended before it was told to" >&2
  wait "$pid" 2>/dev/null || status=$?
  if [ "$status" -ne 0 ] && [ "$status" -ne $((128 + $(kill -l "$signal"))) ]; then
    echo "process $pid ended with status $status" >&2
    return "$status"
  fi
}
