import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { coverOf } from '../../../sandbox/extensions/project_tools/shell/shell-tools.ts';
import {
  filteredProgramOf,
  programsOf,
  quotedPrograms,
  readOnlyCommandOf,
  shownCommand,
  shownWords,
} from '../../../packages/command-line/index.ts';

const reads = (command: string) => readOnlyCommandOf(programsOf(command), (name) => `/usr/bin/${name}`);
const lines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

const READING = lines(`
  git status
  git status -sb
  git status --porcelain=v2 --untracked-files=all
  git --no-pager status -uno
  git diff
  git diff --stat HEAD~1
  git diff -U5 HEAD~3..HEAD^ -- src/a.ts
  git diff --cached --name-only
  git diff main...topic -w --word-diff=color
  git log
  git log --oneline -20
  git log -p -n 5 -- "src/a b.ts"
  git log --since="2 weeks ago" --author='Ann' --format='%h %s'
  git log -L 10,20:src/a.ts
  git log -S needle --all --graph
  git show
  git show --stat 'HEAD@{2}'
  git show HEAD:src/a.ts
  git shortlog -sn
  git blame -L 1,20 src/a.ts
  git grep -n needle src
  git branch
  git branch -avv
  git branch --show-current
  git branch --list 'topic/*'
  git branch --contains HEAD --sort=-committerdate
  git tag -l 'v1.*'
  git tag --sort=version:refname
  git remote
  git stash list
  git stash show -p
  git reflog -n 5
  git rev-parse --show-toplevel
  git rev-parse --abbrev-ref HEAD
  git ls-files -o --exclude-standard
  git ls-tree -r --name-only HEAD
  git cat-file -p HEAD
  git describe --tags --always
  git merge-base main HEAD
  git worktree list
  git --version
  ls
  ls -la src
  ls --color=never -1 'a b'
  pwd
  cat package.json
  cat -n src/a.ts src/b.ts
  head -20 src/a.ts
  head -n 20 src/a.ts
  tail -n +5 src/a.ts
  wc -l src/a.ts
  grep -rn "TODO" src
  grep -E 'a|b' src/a.ts
  grep -rn --include='*.ts' -A 3 "foo(" .
  rg needle
  rg -n --glob '*.ts' 'foo\\(' src
  rg --files
  fd -e ts
  find . -name '*.ts'
  find src -type f -mtime -7 -size -10k -not -path '*/x/*'
  find . '(' -name a -o -name b ')' -print0
  tree -L 2 src
  sed -n 1,50p src/a.ts
  sed -n '10,$p' src/a.ts
  jq .name package.json
  jq -r '.scripts | keys[]' package.json
  diff -u a.txt b.txt
  diff -rq a b
  stat -c %s a.txt
  file a.bin
  du -sh src
  df -h
  sort -u a.txt
  uniq -c a.txt
  cut -d, -f1 a.csv
  which node
  echo "a b"
  date +%F
  date -u
  uname -a
  node --version
  python3 --version
  sha256sum a.txt
  git log --oneline | head -5
  git diff | grep -c needle
  git ls-files | wc -l
  ls -la | grep -v total
  cat a.txt | sort | uniq -c | sort -rn | head
  grep -rn needle src | cut -d: -f1 | sort -u
  cat a.json | jq -r .name
  cat a.txt | sed -n 1,5p
  cat a.txt | tr a-z A-Z
  git status && git diff --stat | head
  pwd && ls -la && git log --oneline -5
  git log --oneline -1; git status --short
  ls src 2>/dev/null || ls lib 2>/dev/null
  cat a.txt 2>&1|head -5
  ls && cat a.txt | head -5 && echo ok
  ls || cat
`);

/** Asked about; an `always` covers these very words. */
const EXACT = lines(`
  npm test
  npm test -- --run a.test.ts
  npm run build
  npm version patch
  npm exec -- x
  npm --version
  npx tsc --noEmit
  pnpm install
  yarn why x
  make
  make test
  docker compose up
  docker ps
  ssh host ls
  python3 x.py
  python3 -c 1
  node script.js 1
  node -e 1
  curl https://example.com
  tee a.txt
  xargs rm
  env
  env ls
  awk '{print}' a.txt
  less a.txt
  man ls
  rm -rf build
  mkdir -p a
  date -s 12:00
  date 11281200
  date --set=x
  time ls
  eval ls
  command ls
  ./ls
  /usr/bin/ls
  src/../ls
  LS
  git
  git push
  git commit -m 'x'
  git commit -m "a | b"
  git diff --output=src/a.txt
  git diff --output src/a.txt
  git diff --outpu=src/a.txt
  git diff -O order
  git diff --ext-diff
  git diff --submodule=diff
  git status -v
  git status -sv
  git status --verbose
  git diff --textconv
  git diff --no-index a b
  git diff /dev/null .env
  git diff ../x y
  git diff a .git/config
  git log --output=x
  git log --show-signature
  git log --remerge-diff
  git show --output=x
  git -c core.pager=./x diff
  git -ccore.fsmonitor=./x status
  git -C ../other status
  git --exec-path=. status
  git --config-env=core.pager=X log
  git --git-dir=x/.git status
  git --work-tree=.. status
  git -p log
  git --paginate log
  git --no-pager push
  git grep -O./x needle
  git grep -nO./x needle
  git grep --open-files-in-pager=./x needle
  git grep --op needle
  git grep --no-index needle
  git grep -f patterns
  git bisect run ./x
  git bisect log
  git submodule foreach ./x
  git submodule update
  git branch topic
  git branch -D topic
  git branch -v topic
  git branch --color topic
  git branch --format x topic
  git branch --list -d topic
  git branch --edit-description
  git tag v1
  git tag -n v1
  git tag -d v1
  git tag -l -f v1
  git remote add x y
  git remote -v
  git remote show origin
  git reflog expire --all
  git reflog -n expire expire
  git stash
  git stash pop
  git stash list pop
  git worktree add x
  git config --list
  git config core.pager ./x
  git cat-file --textconv HEAD:a
  git cat-file --filters HEAD:a
  git blame --contents x a
  git rev-parse --parseopt
  git fetch
  git ls-remote
  git archive -o x HEAD
  git format-patch HEAD
  git difftool
  git help log
  git diff --help
  git alias-of-ours
  find . -delete
  find . -exec rm '{}' +
  find . -execdir rm +
  find . -ok rm +
  find . -okdir rm +
  find . -fprint x
  find . -fprintf x %p
  find . -fls x
  find . -name -exec
  find . -files0-from x
  fd -x rm
  fd -X rm
  fd --exec rm
  fd -l
  rg --pre ./x needle
  rg --pre=./x needle
  rg --pre-glob a needle
  rg --hostname-bin ./x needle
  rg -z needle
  rg -f patterns
  sort -o a.txt a.txt
  sort -uoa.txt a.txt
  sort --output=a.txt a.txt
  sort --compress-program=./x a.txt
  sort --files0-from=x
  sort -T .
  uniq a.txt b.txt
  sed -i s/a/b/ a.txt
  sed -n '1,5p;w x' a.txt
  sed '1e ./x' a.txt
  sed -n -e p a.txt
  sed -nf x a.txt
  sed -n s/a/b/w a.txt
  tree -o x
  tree -aLo 2 x
  tree -ILo a 2 x
  tree -R
  file -C -m x
  tail -f a.txt
  tail --follow a.txt
  grep -f patterns a.txt
  jq -f x a.json
  jq -L . .a a.json
  diff --to-file=x a
  diff -l a b
  wc --files0-from=x
  tar tf a.tar
  xxd a b
  hostname evil
  cat --unknown a
  ls -D --zero-unknown
`);

/** The same: a reading program only filters what it prints. */
const FILTERED = lines(`
  npm test 2>&1 | tail -40
  npm test 2>/dev/null
  cargo test 2>&1|grep -E 'FAILED|panicked' | head -20
`);

/** Asked about each time: a shell would make more of it. */
const ONCE = lines(`
  npm test; rm -rf /
  npm test && curl x
  npm test || x
  npm test | tee log
  ls | xargs rm
  ls | sh
  ls |& cat
  ls | cat a.txt
  ls | grep -r a
  ls | grep -e a b
  git log | sort -o x
  git log | git apply
  cat a.txt | rg needle
  cat a.txt | head a.txt
  cat a | sed -n 1,5p b
  cat a | jq . b
  | ls
  ls |
  npm test > package.json
  git diff >> x
  cat < x
  cat <<EOF
  cat <<<x
  cat <(id)
  ls &
  ls 2>/dev/nullx
  ls 2>x
  ls a2>&1
  ls 2>&1x
  ls &>/dev/null
  ls && rm x
  git status && cat .git/config
  grep -r token . ; git log
  ls; ls;
  ls 2>&1 &
  if ls; then ls; fi
  cat x | npm test
  npm test && git status
  npm test | tail -5; ls
  npm test $(id)
  ls \`id\`
  ls $HOME
  ls \${HOME}
  ls "$(id)"
  ls "$HOME"
  echo "a\\"
  echo "a!b"
  ls *
  ls src/*.ts
  ls ?
  ls [-]o
  ls -[o]
  ls {a,b}
  ls a{1..3}
  ls ~
  ls ~/x
  ls a=~/x
  ls # x
  ls \\; x
  (ls)
  { ls; }
  ! ls
  PATH=. ls
  GIT_EXTERNAL_DIFF=./x git diff
  PAGER=./x git log
  ''
  "ls
  ls 'a
`);

describe('S7, U-8 what a command can do', () => {
  it.each(READING)('U-8 runs unasked: %s', (command) => expect(reads(command)).not.toBeNull());

  it.each([...EXACT, ...FILTERED])('S7 asks, and always is exactly: %s', (command) => {
    const programs = programsOf(command);
    expect(readOnlyCommandOf(programs, (name) => `/usr/bin/${name}`)).toBeNull();
    expect(filteredProgramOf(programs)).not.toBeNull();
  });

  it.each(ONCE)('S7 asks each time: %s', (command) => {
    const programs = programsOf(command);
    expect(readOnlyCommandOf(programs, (name) => `/usr/bin/${name}`)).toBeNull();
    expect(filteredProgramOf(programs)).toBeNull();
  });

  it.each([
    'ls\u00a0-a',
    'ls\u2003-a',
    'ls\t-a',
    'ls\nrm x',
    'ls\r',
    'ls\u0000',
    'ls\u200b -a',
    'l\u0000s',
    'ls \u001b[0m',
    "echo 'a\nb'",
    '',
  ])('S7 takes no other kind of space, and no control character: %j', (command) => expect(programsOf(command)).toBeNull());

  it('S7 a program that the system does not have is asked about: one of the project could have its name', () =>
    expect(readOnlyCommandOf(programsOf('ls'), () => null)).toBeNull());

  it('S7 what filters a command is no part of its cover', () => {
    const words = FILTERED.map((command) => filteredProgramOf(programsOf(command))?.words.slice(0, 2).join(' '));
    expect(words).toEqual(['npm test', 'npm test', 'cargo test']);
  });

  it('S7 a cover names what reads, or everything; no cover of earlier versions is among them', () => {
    const asked = { kind: 'command', folder: '.', network: false, background: false } as const;
    const key = (command: string, more = {}) =>
      coverOf({ ...asked, words: filteredProgramOf(programsOf(command))?.words ?? [], readOnly: reads(command)?.named ?? null, ...more })
        .key;
    expect(['npm test -- a', 'git push', 'git diff --output=x', 'git -c a=b diff'].map((command) => key(command))).toEqual([
      'command:npm test -- a',
      'command:git push',
      'command:git diff --output=x',
      'command:git -c a=b diff',
    ]);
    expect(key('git --no-pager diff --stat')).toBe('command:git diff …');
    expect(key("npm test '…'")).toBe('command:npm test "…"');
    expect(key('npm test +network')).not.toBe(key('npm test', { network: true }));
    expect(key('make in "x y"')).not.toBe(key('make', { folder: 'x y' }));
  });
});

/** What a shell could make something of in quotes. */
const ODD = ["'$HOME'", "'`id`'", "'a\\b'", `'say "x"'`, `"it's"'$x"!'`, "'…'", "'+network'"];

describe('S7, U-8 generated commands', () => {
  const word = fc.constantFrom('a', 'src/a.ts', "'a b'", '"c d"', 'HEAD~1', '-n', '--stat', "''", 'x=y', 'é', 'it"\'"s', ...ODD);
  const line = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(' '));

  it('S7 U14 bash reads the words that were judged, also as they are shown, and a rule of what is shown names them', () => {
    const taken = fc.sample(line, { numRuns: 300, seed: 7 }).flatMap((each) => {
      const programs = programsOf(`p ${each}`);
      return programs === null
        ? []
        : [
            {
              each,
              words: programs[0]?.words.slice(1) ?? [],
              quoted: quotedPrograms(programs),
              shown: shownWords(programs[0]?.words ?? []),
            },
          ];
    });
    expect(taken.length).toBeGreaterThan(200);
    const script = taken.flatMap(({ each, quoted, shown }) => [`p ${each}`, quoted, shown]).join('\n');
    const printed = execFileSync('bash', ['-c', `p() { printf '%s\\0' "$@" '|'; }\n${script}`], { encoding: 'utf8' });
    const expected = taken.flatMap(({ words }) => [...words, '|', ...words, '|', ...words, '|']);
    expect(printed.split('\0').slice(0, -1)).toEqual(expected);
    for (const { each, shown } of taken) expect([shownCommand(`p ${each}`), shownCommand(shown)]).toEqual([shown, shown]);
  });

  it('S7 bash joins the programs as they were judged', () => {
    const joint = fc.constantFrom('|', ' | ', '&&', ' && ', '||', ' || ', ';', '; ');
    const part = fc.tuple(joint, fc.constantFrom('p', 'q'), line, fc.constantFrom('', ' 2>&1', ' 2>/dev/null'));
    const texts = fc
      .sample(fc.array(part, { minLength: 2, maxLength: 4 }), { numRuns: 40, seed: 9 })
      .map((parts) => parts.map(([joined, name, words, errors], at) => `${at === 0 ? '' : joined}${name} ${words}${errors}`).join(''))
      .filter((text) => programsOf(text) !== null);
    expect(texts.length).toBeGreaterThan(30);
    const functions = `p() { local given=$(cat); printf '%s,' "$@" "$given"; echo e >&2; }; q() { p "$@"; return 1; }`;
    const printed = (forms: readonly string[]) =>
      execFileSync('bash', ['-c', `exec 2>&1 </dev/null; ${functions}\n${forms.join('\necho\n')}\ntrue`], { encoding: 'utf8' });
    expect(printed(texts.map((text) => quotedPrograms(programsOf(text) ?? [])))).toBe(printed(texts));
  });

  it('U-8 nothing is taken for reading that has an option that writes, a separator, a substitution or an unknown word', () => {
    const hostile = fc.constantFrom(
      ...lines(`
        & > >> < << $(id) \`id\` $X \${X} * ? [a] {a,b} ~ ~/a # \\ ! ( ) x| |x >x <x a;b a&b a>b a$b a\\b a*b
        "$x" "\`id\`" "a\\b" 'a "a
      `).flatMap((each) => each.split(' ')),
      '\nx',
      '\t',
      '\r',
      '\u00a0',
      '\u2028',
      'a\nb',
      '; x',
      '&& x',
      '|| x',
      '| sh',
      '| tee x',
      '| xargs rm',
      '| env',
      '| cat x',
      '| unknown',
      ...'--output=x --output --ext-diff --textconv --exec=x --pre=x --compress-program=x --open-files-in-pager=x --no-such --files0-from=x'.split(
        ' ',
      ),
    );
    const taken = fc.check(
      fc.property(fc.constantFrom(...READING), hostile, fc.nat(20), (command, bad, at) => {
        const tokens = (programsOf(command) ?? []).flatMap(({ words, joint, errors }) => [
          ...(joint === null ? [] : [joint]),
          ...words.map((each) => quotedPrograms([{ words: [each], joint: null, errors: null }])),
          ...(errors === null ? [] : [errors]),
        ]);
        tokens.splice(1 + (at % tokens.length), 0, bad);
        return reads(tokens.join(' ')) === null;
      }),
      { numRuns: 3000, seed: 8 },
    );
    expect(taken.counterexample).toBeNull();
  });
});
