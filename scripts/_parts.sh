# The tests in two parts; sourced by `test` with $venv and $marks set. POSIX sh.

part() { # part NAME MARKS ARGUMENTS...: sets $code to pytest's exit code, keeps its last line
    name=$1
    only=$2
    shift 2
    colour=no
    if [ -t 1 ]; then colour=yes; fi
    # The exit status of a pipeline is that of its last command, so the code goes to a file.
    {
        code=0
        "$venv/bin/python" -m pytest --color=$colour -m "${marks:+($marks) and }$only" "$@" || code=$?
        echo "$code" >"$told/code"
    } | tee -i "$told/output"
    code=$(cat "$told/code")
    printf '%s: %s\n' "$name" "$(tail -n 1 "$told/output")" >>"$told/ends"
}

in_two_parts() { # tests that need the machine to themselves, then the others in four processes
    told=$(mktemp -d)
    part "alone" "alone" tests/real
    first=$code
    if [ "$first" -ne 2 ]; then # after Ctrl-C, the second part is not run
        part "shared" "not alone" -n 4 --dist loadfile --no-loadscope-reorder
    fi
    cat "$told/ends"
    rm -r "$told"
    if [ "$first" -ne 0 ]; then return "$first"; fi
    return "$code"
}
