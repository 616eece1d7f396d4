# Set-up shared by `run` and `test`; sourced by them with $root set. POSIX sh (macOS's bash 3.2,
# dash). Its messages go to standard error, so that standard output is left to the program.
#
# .venv/.stamp       what the environment was made from, written last; current if still the same
# .venv/.installing  exists during an installation; if left behind, that was interrupted
# .venv/.without-*   system packages that were declined or not available; not asked for again

venv=${root:?}/.venv
setup_log=$venv/setup.log
unset PYTHONHOME PYTHONPATH # with them, other libraries would take precedence over the pinned ones

say() { printf '%s\n' "$*" >&2; }

fail() { # fail SENTENCE [MEND]
    say "$1"
    if [ -n "${2:-}" ]; then say "→ $2"; fi
    exit 1
}

# --- Python ------------------------------------------------------------------------------------

python_fits() { # onnxruntime and torch have wheels for these versions
    "$1" -I -S -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' \
        >/dev/null 2>&1
}

python_has_venv() { "$1" -I -c 'import ensurepip, venv' >/dev/null 2>&1; }

find_python() { # sets $python, and $without_venv to a Python that lacks only the venv module
    python=
    without_venv=
    for candidate in "${PYTHON:-python3}" python3 python3.13 python3.12 python3.11 python3.14 \
        /opt/homebrew/bin/python3 /usr/local/bin/python3 /usr/bin/python3; do
        path=$(command -v "$candidate" 2>/dev/null) || continue
        python_fits "$path" || continue
        if python_has_venv "$path"; then
            python=$path
            return 0
        fi
        without_venv=${without_venv:-$path}
    done
    return 1
}

install_python_hint() {
    if [ "$(uname -s)" = Darwin ]; then
        echo "brew install python@3.13, or the installer from python.org"
    elif command -v apt-get >/dev/null; then
        echo "sudo apt-get install python3 python3-venv"
    else
        echo "Install Python 3.11 to 3.14 with your system's package manager."
    fi
}

need_python() {
    find_python && return 0
    if [ -z "$without_venv" ]; then
        fail "No Python from 3.11 to 3.14 was found." "$(install_python_hint)"
    fi
    venv_package=python$("$without_venv" -I -S -c \
        'import sys; print("%d.%d" % sys.version_info[:2])')-venv
    if command -v apt-get >/dev/null &&
        install_packages "Python's venv module" "$venv_package" && find_python; then
        return 0
    fi
    fail "$without_venv has no venv module, which is needed to install the libraries." \
        "sudo apt-get install $venv_package"
}

# --- System packages ---------------------------------------------------------------------------

is_root() { [ "$(id -u)" = 0 ]; }

can_ask() { [ -t 0 ] && [ -t 2 ]; }

packages_command() { # the command that installs these Debian packages, or their equivalents, here
    if command -v apt-get >/dev/null; then
        echo "apt-get install -y $*"
    elif [ "$*" = libportaudio2 ] && command -v dnf >/dev/null; then
        echo "dnf install -y portaudio"
    elif [ "$*" = libportaudio2 ] && command -v pacman >/dev/null; then
        echo "pacman -S --noconfirm portaudio"
    elif [ "$*" = libportaudio2 ] && command -v zypper >/dev/null; then
        echo "zypper install -y portaudio"
    else
        return 1
    fi
}

run_logged() { # run_logged COMMAND...: the output goes to the log only
    mkdir -p "$venv"
    "$@" </dev/null >>"$setup_log" 2>&1
}

apt_install() { # a fresh image has no package lists, so the first try may fail
    DEBIAN_FRONTEND=noninteractive
    export DEBIAN_FRONTEND
    # shellcheck disable=SC2086 # $sudo is a single word or empty
    run_logged $sudo apt-get install -y --no-install-recommends "$@" || {
        run_logged $sudo apt-get update
        run_logged $sudo apt-get install -y --no-install-recommends "$@"
    }
}

install_packages() { # install_packages WHAT PACKAGE...: returns 1 if declined or impossible
    what=$1
    shift
    if ! shown=$(packages_command "$@"); then
        say "$what: not installed. Install your system's equivalent of $*."
        return 1
    fi
    sudo=
    is_root || sudo=sudo
    if ! is_root || ! command -v apt-get >/dev/null; then
        say "$what: not installed. To install it:  $sudo $shown"
        can_ask || return 1
        printf 'Run this now? [y/N] ' >&2
        read -r answer || answer=
        case $answer in [yY]*) ;; *) return 1 ;; esac
        if [ -n "$sudo" ]; then sudo -v || return 1; fi
    fi
    say "Installing $what ($*)…"
    if command -v apt-get >/dev/null; then
        apt_install "$@" && return 0
    else
        # shellcheck disable=SC2086 # to be split into the words of a command
        run_logged $sudo $shown && return 0
    fi
    say "It could not be installed; the reason is in $setup_log."
    return 1
}

has_portaudio() {
    [ "$(uname -s)" = Linux ] || return 0 # the wheels for macOS and Windows include it
    for library in /usr/lib/*/libportaudio.so.2 /usr/lib*/libportaudio.so.2 \
        /usr/local/lib*/libportaudio.so.2 /lib/*/libportaudio.so.2; do
        if [ -e "$library" ]; then return 0; fi
    done
    return 1
}

want_sound() { # the assistant also runs without sound, with typed turns
    if has_portaudio || [ -e "$venv/.without-portaudio" ]; then return 0; fi
    if ! install_packages "PortAudio, for microphone and loudspeaker" libportaudio2; then
        say "Continuing without sound; type instead of speaking."
        : >"$venv/.without-portaudio"
    fi
}

# --- The environment ---------------------------------------------------------------------------

made_from() { # what the environment depends on, in one line
    printf '%s %s %s' "$(cat "$root/pyproject.toml" "$root/constraints.txt" | cksum)" \
        "$("$venv/bin/python" -I -S -c 'import sys; print(sys.version.split()[0])' 2>/dev/null)" \
        "$root"
}

is_current() { # is_current run|test
    [ -f "$venv/.stamp" ] && [ -x "$venv/bin/python" ] && [ ! -e "$venv/.installing" ] || return 1
    { read -r stamp && read -r kind; } <"$venv/.stamp" || return 1
    [ "$stamp" = "$(made_from)" ] || return 1
    [ "$1" = run ] || [ "$kind" = test ]
}

lock() { # two first starts at the same time would disturb each other's installation
    while ! (set -C && echo $$ >"$root/.venv.lock") 2>/dev/null; do
        holder=$(cat "$root/.venv.lock" 2>/dev/null) || continue
        if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
            rm -f "$root/.venv.lock" # its owner was killed
            continue
        fi
        [ -n "${waiting:-}" ] || say "Another start is installing the libraries; waiting for it…"
        waiting=yes
        sleep 1
    done
    trap 'rm -f "$root/.venv.lock"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
}

unlock() {
    rm -f "$root/.venv.lock"
    trap - EXIT INT TERM HUP
}

show_progress() { # shows the last line of the log until the installation ends
    while kill -0 $$ 2>/dev/null; do
        printf '\r\033[K  %.70s' "$(tail -n 1 "$setup_log" | tr -d '\r')" >&2
        sleep 0.5
    done
}

warn_of_cuda() {
    if [ "$(uname -s)" = Linux ] && ! command -v nvidia-smi >/dev/null &&
        [ -z "${PIP_EXTRA_INDEX_URL:-}${PIP_INDEX_URL:-}${PIP_FIND_LINKS:-}" ]; then
        say "Torch's usual build for Linux includes gigabytes of GPU libraries;" \
            "README.md (\"Linux without a GPU\") says how to get the small build."
    fi
}

install_libraries() { # install_libraries run|test
    extra=
    [ "$1" = run ] || extra='[dev]'
    progress=
    if [ -t 2 ]; then
        show_progress &
        progress=$!
    fi
    code=0
    (cd "$root" && "$venv/bin/python" -m pip install --no-input --disable-pip-version-check \
        --constraint constraints.txt --editable ".$extra") \
        </dev/null >>"$setup_log" 2>&1 || code=$?
    if [ -n "$progress" ]; then
        kill "$progress" 2>/dev/null
        wait "$progress" 2>/dev/null || :
        printf '\r\033[K' >&2
    fi
    [ "$code" = 0 ] && return 0
    tail -n 5 "$setup_log" >&2
    fail "The libraries could not be installed; the full log is $setup_log." \
        "Check the connection and the free disk space, then start again; downloads are reused."
}

make_environment() {
    if [ ! -e "$venv/.installing" ] && [ -x "$venv/bin/python" ] &&
        python_fits "$venv/bin/python" && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        return 0 # complete, only out of date
    fi
    need_python
    say "Creating .venv with $("$python" --version)…"
    "$python" -m venv --clear "$venv" >&2 || fail "The environment $venv could not be created."
}

set_up() { # set_up run|test
    is_current "$1" && return 0
    if [ "$(uname -s)-$(uname -m)" = Darwin-x86_64 ]; then
        fail "The assistant can't run on Intel Macs: onnxruntime and torch no longer support them."
    fi
    lock
    if is_current "$1"; then # made by the start that held the lock
        unlock
        return 0
    fi
    kind=$1
    if grep -qs '^test$' "$venv/.stamp"; then kind="test"; fi
    make_environment
    rm -f "$venv/.stamp" "$venv/.without-"*
    : >"$venv/.installing"
    : >"$setup_log"
    say "Installing the libraries into .venv (once; a few minutes)…"
    warn_of_cuda
    install_libraries "$kind"
    printf '%s\n%s\n' "$(made_from)" "$kind" >"$venv/.stamp.new"
    rm -f "$venv/.installing"
    mv "$venv/.stamp.new" "$venv/.stamp"
    unlock
}
