#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rooms SOURCE [--draw] -- the rooms of runtime/ stand one on another.

Checked of the table in runtime/README.md, which has them from the lowest up:
  - a file includes headers of its own room and of rooms below it alone;
  - a file calls functions of these alone: upwards it goes by const tables (ports/);
  - each room has a README that names each of its files, and no other;
  - files that reach each other in a circle are few: by calls, and by calls and includes;
  - docs/architecture.md has the drawing that --draw prints.
"""
import collections
import os
import re
import sys

MOST_BY_CALLS = 16
MOST_BY_BOTH = 24
BEGIN, END = '<!-- rooms -->\n', '<!-- end of rooms -->\n'


def bare(text):
    """The text without comments and strings, line by line."""
    text = re.sub(r'/\*.*?\*/', lambda m: '\n' * m.group().count('\n'), text, flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def public_functions(text):
    """Names of functions that a source defines for others."""
    for body in re.finditer(r'^\{$', text, flags=re.M):
        head = re.split(r';|\n\}|#.*|\n\n', text[:body.start()])[-1]
        head = re.sub(r'__attribute__\s*\(\(.*?\)\)', '', head)
        name = re.search(r'(\w+)\s*\(', head)
        if name and not re.search(r'\bstatic\b', head):
            yield name.group(1)


def largest_circle(edges):
    """The most files that all reach each other."""
    def reached(start):
        seen, todo = set(), [start]
        while todo:
            for to in edges[todo.pop()]:
                if to not in seen:
                    seen.add(to)
                    todo.append(to)
        return seen
    reach = {file: reached(file) for file in list(edges)}
    circles = ([other for other in reach[file] if file in reach.get(other, ())]
               for file in reach)
    return max(circles, key=len)


def rooms_of(folder):
    table = open(os.path.join(folder, 'README.md')).read()
    return re.findall(r'^\| `(\w+)/` \| (.*) \|$', table, flags=re.M)


class House:
    def __init__(self):
        self.rooms = [name for name, _ in rooms_of('runtime')]
        self.text = {}
        for folder, _, names in os.walk('runtime'):
            for name in names:
                if name.endswith(('.c', '.h')):
                    path = os.path.join(folder, name)
                    self.text[os.path.relpath(path, 'runtime')] = open(path).read()
        self.faults = []

    def fault(self, text):
        self.faults.append(text)

    def room(self, path):
        return self.rooms.index(path.split('/')[0])

    def edges(self):
        calls, includes = collections.defaultdict(set), collections.defaultdict(set)
        source = {path: bare(text) for path, text in self.text.items()}
        home = {name: path for path in source if path.endswith('.c')
                for name in public_functions(source[path])}
        for path in source:
            for name in set(re.findall(r'\w+', source[path])) if path.endswith('.c') else ():
                if home.get(name, path) != path:
                    calls[path].add((home[name], name))
            for header in re.findall(r'^#\s*include "([^"]+)"', self.text[path], flags=re.M):
                if header in self.text:
                    includes[path].add(header)
        return calls, includes

    def check_order(self, calls, includes):
        for path, headers in sorted(includes.items()):
            for header in sorted(headers):
                if self.room(header) > self.room(path):
                    self.fault(f'runtime/{path}: includes {header}, of a higher room')
        for path, called in sorted(calls.items()):
            for other, name in sorted(called):
                if self.room(other) > self.room(path):
                    self.fault(f'runtime/{path}: calls {name} of the higher room, runtime/{other}')

    def check_circles(self, calls, includes):
        def node(path):
            return path[:-2]
        by_calls, by_both = collections.defaultdict(set), collections.defaultdict(set)
        for path, called in calls.items():
            by_calls[node(path)] |= {node(other) for other, _ in called}
        for path, headers in includes.items():
            by_both[node(path)] |= {node(header) for header in headers} - {node(path)}
        for path in by_calls:
            by_both[path] |= by_calls[path]
        for edges, most, how in ((by_calls, MOST_BY_CALLS, 'calls'),
                                 (by_both, MOST_BY_BOTH, 'calls and includes')):
            circle = largest_circle(edges)
            print(f'largest circle by {how}: {len(circle)} files, limit {most}')
            if len(circle) > most:
                self.fault(f'a circle by {how}: ' + ' '.join(sorted(circle)))

    def check_pages(self):
        for room in self.rooms:
            readme = f'runtime/{room}/README.md'
            if not os.path.exists(readme):
                self.fault(f'{readme}: is not there')
                continue
            named = set(re.findall(r'^\| `([\w/.]+)` \|', open(readme).read(), flags=re.M))
            there = set()
            for path in self.text:
                if path.split('/')[0] == room:
                    name = path[len(room) + 1:]
                    pair = path[:-2] + ('.h' if path.endswith('.c') else '.c')
                    there.add(name if name.endswith('.h') and pair not in self.text
                              else name[:-2])
            if room == 'nopal':
                there.add('events.def')
            for name in sorted(named ^ there):
                where = 'is not named' if name in there else 'is no file here'
                self.fault(f'{readme}: `{name}` {where}')

    def check_drawing(self):
        page = open('docs/architecture.md').read()
        drawn = page.partition(BEGIN)[2].partition(END)[0]
        if drawn != draw():
            self.fault('docs/architecture.md: its rooms are not what '
                       'tests/house/rooms.py . --draw prints')


def draw():
    """The rooms, the highest first, as lines of Markdown."""
    rooms = rooms_of('runtime')
    width = max(len(name) for name, _ in rooms) + 3
    lines = [f'  {name + "/":{width}}{concern.split(".")[0].split(":")[0]}'
             for name, concern in reversed(rooms)]
    return '```\n' + '\n'.join(lines) + '\n```\n'


def main():
    os.chdir(sys.argv[1])
    if '--draw' in sys.argv:
        print(draw(), end='')
        return 0
    house = House()
    calls, includes = house.edges()
    house.check_order(calls, includes)
    house.check_circles(calls, includes)
    house.check_pages()
    house.check_drawing()
    print('\n'.join(house.faults))
    return 1 if house.faults else 0


sys.exit(main())
