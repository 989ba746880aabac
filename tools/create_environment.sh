#!/bin/sh
# Make a virtual environment from the first suitable Python: create_environment.sh FOLDER
#
# Suitable means 3.11 or newer and able to install packages. 3.11 to 3.13 are what the tests
# run on, so they are preferred. PYTHON=/path/to/python overrides the search.
set -eu
folder=$1

suitable() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

for candidate in ${PYTHON:-python3.13 python3.12 python3.11 python3 python}; do
    if command -v "$candidate" >/dev/null 2>&1 && suitable "$candidate"; then
        echo "Creating $folder with $("$candidate" --version)"
        exec "$candidate" -m venv --clear "$folder"
    fi
done

cat >&2 <<'MESSAGE'
neuroveil needs Python 3.11 or newer with its venv module, and none was found.
  Debian, Ubuntu:  sudo apt-get install python3 python3-venv
  Fedora:          sudo dnf install python3
  macOS:           brew install python@3.12
  Windows:         https://www.python.org/downloads/
If it is installed under another name:  make PYTHON=/path/to/python test
MESSAGE
exit 1
