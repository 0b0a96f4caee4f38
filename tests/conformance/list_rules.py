"""Runs the tests that carry a rule's number and prints the list of rules.

    list_rules.py BUILD_DIRECTORY

Fails if a test fails, if a rule has no test and no reason, or if a number in a
test's name is none.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

from rules import NOT_HERE, SERVER

NUMBER = re.compile(r"(?<![A-Za-z0-9])(R\d{3}|D\d{2})(?!\d)")
FILTER = ":".join(f"*{letter}{digit}*" for letter in "RD" for digit in range(4))


def numbers_in(name):
    return NUMBER.findall(name.replace("_", " "))


def run(program, results):
    """The outcomes of the program's numbered tests, {name: passed}."""
    report = results / (program.name + ".xml")
    subprocess.run([program, f"--gtest_filter={FILTER}",
                    f"--gtest_output=xml:{report}"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not report.exists():
        return {f"{program.name} ended early": False}
    cases = xml.parse(report).getroot().iter("testcase")
    return {f"{case.get('classname')}.{case.get('name')}":
            case.find("failure") is None and case.find("skipped") is None
            for case in cases if numbers_in(case.get("name"))}


def collect(build):
    tests = {}
    with tempfile.TemporaryDirectory() as results:
        for program in sorted(build.rglob("*_test")):
            if program.is_file():
                tests |= run(program, pathlib.Path(results))
    return tests


def list_rule(rule, tests):
    """Prints the rule's lines; True if it is in order."""
    if rule in NOT_HERE:
        print(f"{rule:5} does not apply: {NOT_HERE[rule]}")
        return True
    mine = {name: passed for name, passed in tests.items()
            if rule in numbers_in(name)}
    if not mine:
        print(f"{rule:5} NO TEST")
    for name, passed in sorted(mine.items()):
        print(f"{rule:5} {'passed' if passed else 'FAILED'}  {name}")
    return bool(mine) and all(mine.values())


def main():
    tests = collect(pathlib.Path(sys.argv[1]))
    bad = []
    for subject, rules in SERVER.items():
        print(f"\n{subject}")
        bad += [rule for rule in rules if not list_rule(rule, tests)]
    known = {rule for rules in SERVER.values() for rule in rules}
    numbers = {number for name in tests for number in numbers_in(name)}
    strange = {number for number in numbers
               if int(number[1:]) > (276 if number[0] == "R" else 35)}
    print(f"\n{len(known) - len(NOT_HERE)} rules of the server, "
          f"{len(NOT_HERE)} that do not apply; {len(tests)} tests")
    bad += sorted(strange)
    if bad:
        print("not in order: " + " ".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
