/**
 * The uses of a program or subcommand that are known to only read. Everything else needs approval each time: a list of what writes would
 * always lack the next option. So `awk`, `env`, `xargs`, `tee`, `less`, `man`, `npm`, `make`, `docker` and `curl` are absent, and `sed` may
 * only print lines.
 */
export interface CommandRule {
  /**
   * Known options. `-ab`: letters without a value; `-c=`: with a value; `-d?`: with an optional value in the same word; `-e:` with a value
   * in the next word; `-#`: a number. `--all`, `--sort=` and `--color?` likewise. Options that write, run a program, wait without end or
   * name files in another way are left out.
   */
  readonly options: string;
  /** A word after one dash is one option, not a group of letters. */
  readonly wholeWords?: boolean;
  /** The most words besides options and their values; default: no limit. */
  readonly most?: number;
  /** A pattern for the first of these words. */
  readonly first?: RegExp;
  /** One of these options is required: without it, the words would name what to create. */
  readonly needs?: readonly string[];
  /** The rule behind a pipe, where the program reads only its input; absent: not allowed there. */
  readonly piped?: CommandRule;
  /** It may print content that git keeps, unless it has only these options. */
  readonly printsTracked?: { readonly unlessOnly?: string };
}

const DIFF = `
  -puwbaRWzDs -MBCX? -SGUl= --patch --no-patch --unified= --stat? --numstat --shortstat --dirstat? --summary --name-only --name-status
  --raw --compact-summary --patch-with-stat --word-diff? --word-diff-regex= --color? --no-color --color-words? --color-moved?
  --find-renames? --no-renames --find-copies? --diff-filter= --pickaxe-regex --pickaxe-all --relative? --text --check --full-index
  --abbrev? --binary --minimal --patience --histogram --diff-algorithm= --function-context --inter-hunk-context= --no-prefix
  --ignore-all-space --ignore-space-change --ignore-space-at-eol --ignore-blank-lines --ignore-cr-at-eol --ignore-submodules?
  --no-ext-diff --no-textconv`;
const COMMITS = `
  -# -n= -iEFPgq --max-count= --skip= --since= --after= --until= --before= --author= --committer= --grep= --all-match --invert-grep
  --regexp-ignore-case --extended-regexp --fixed-strings --oneline --graph --decorate? --no-decorate --all --branches? --tags? --remotes?
  --glob= --first-parent --merges --no-merges --reverse --follow --full-history --simplify-merges --format= --pretty? --date=
  --relative-date --abbrev-commit --no-abbrev-commit --topo-order --date-order --author-date-order --left-right --left-only --right-only
  --cherry --cherry-pick --cherry-mark --boundary --parents --children --no-walk? --walk-reflogs --no-notes --source --stat? --shortstat
  --numstat --name-only --name-status --no-patch --color? --no-color`;
const LOG = `${COMMITS} ${DIFF} -L= -cmt --cc`;
const SHORT_LOG = '-# -n= --oneline --max-count= --date= --format= --pretty?';
const REFS = `
  -i --ignore-case --sort= --format= --merged= --no-merged= --contains= --no-contains= --points-at= --color? --no-color --column?
  --no-column`;
const GREP = `
  -EFGPivwxcLloqsbHhnTZzaI -mABC= -# --extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case --no-ignore-case
  --invert-match --word-regexp --line-regexp --count --color? --files-without-match --files-with-matches --max-count= --only-matching
  --quiet --silent --no-messages --byte-offset --with-filename --no-filename --label= --line-number --initial-tab --null --after-context=
  --before-context= --context= --text --null-data`;

/** Columns: name, the most words, the most words behind a pipe, options. A line that begins with a blank continues the one before. */
const TABLE = `
git --version 0:
git status: -sbz -u? --short --branch --long --porcelain? --show-stash --ahead-behind --no-ahead-behind --untracked-files? --ignored?
  --ignore-submodules? --renames --no-renames --find-renames? --column? --no-column
git diff: ${DIFF} -q --cached --staged --merge-base --exit-code --quiet
git log: ${LOG}
git show: ${LOG}
git shortlog: -snec --summary --numbered --email --committer --merges --no-merges --since= --until= --author= --group= --all
git reflog 0: ${SHORT_LOG}
git reflog show: ${SHORT_LOG}
git stash list 0: ${SHORT_LOG}
git stash show: ${DIFF}
git blame: -lswetfncpb -L= -MC? --date= --porcelain --line-porcelain --since= --show-email --show-name --show-number --abbrev= --root
  --first-parent
git grep: -nHhilLcwvIaoEGFPpWqz -eABCm= -# --line-number --column --files-with-matches --files-without-match --count --word-regexp
  --ignore-case --invert-match --name-only --only-matching --extended-regexp --fixed-strings --perl-regexp --basic-regexp --break
  --heading --show-function --function-context --context= --after-context= --before-context= --max-depth= --max-count= --and --or --not
  --all-match --cached --color? --no-color --full-name --quiet --text
git branch: -arv --all --remotes --verbose --show-current --list --abbrev? ${REFS}
git tag: -l -n? --list ${REFS}
git remote 0:
git worktree list 0: -vz --porcelain --verbose
git rev-parse: -q --verify --quiet --short? --abbrev-ref? --symbolic-full-name --symbolic --all --branches? --tags? --remotes?
  --show-toplevel --show-prefix --show-cdup --show-superproject-working-tree --git-dir --absolute-git-dir --git-common-dir
  --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository
git rev-list: -# -n= --max-count= --skip= --since= --until= --after= --before= --author= --grep= --count --all --branches? --tags?
  --remotes? --left-right --no-merges --merges --first-parent --reverse --oneline --parents --topo-order --date-order --abbrev-commit
  --objects
git ls-files: -cdmoiskutvz -x= --cached --deleted --modified --others --ignored --stage --unmerged --killed --directory
  --no-empty-directory --exclude= --exclude-standard --error-unmatch --full-name --deduplicate --eol --abbrev?
git ls-tree: -rtdlz --name-only --name-status --full-name --full-tree --long --abbrev? --object-only --format=
git cat-file: -tsep
git describe: --all --tags --contains --abbrev= --exact-match --long --match= --exclude= --always --first-parent --dirty?
git merge-base: -a --all --octopus --independent --is-ancestor --fork-point
git name-rev: --tags --refs= --exclude= --name-only --all --always
git for-each-ref: --count= ${REFS}
git show-ref: -dq -s? --head --heads --tags --branches --verify --dereference --hash? --abbrev? --quiet
git check-ignore: -qvn --quiet --verbose --non-matching --no-index
git count-objects 0: -vH --verbose --human-readable
ls: -aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 -ITw= --all --almost-all --author --classify? --color? --directory --full-time
  --group-directories-first --human-readable --si --inode --no-group --numeric-uid-gid --recursive --reverse --size --sort= --time=
  --time-style= --ignore= --hide= --format= --file-type
pwd 0: -LP --logical --physical
cat | 0: -AbeEnstTuv --show-all --number --number-nonblank --squeeze-blank --show-ends --show-tabs --show-nonprinting
head | 0: -qvz -cn= -# --bytes= --lines= --quiet --silent --verbose --zero-terminated
tail | 0: -qvz -cn= -# --bytes= --lines= --quiet --silent --verbose --zero-terminated
wc | 0: -clmwL --bytes --chars --lines --words --max-line-length
nl | 0: -p -bdfhilnsvw= --body-numbering= --number-format= --number-width= --number-separator=
tac | 0:
rev | 0:
cut | 0: -szn -bcdf= --bytes= --characters= --delimiter= --fields= --only-delimited --complement --output-delimiter=
tr 2 | 2: -cCdst
sort | 0: -bdfghiMnRrVcCmsuz -kt= --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --human-numeric-sort
  --month-sort --numeric-sort --reverse --version-sort --check? --merge --stable --unique --zero-terminated --key= --field-separator=
uniq 1 | 0: -cdDiuz -fsw= --count --repeated --all-repeated? --ignore-case --unique --skip-fields= --skip-chars=
grep | 1: ${GREP} -rR -e= --regexp= --recursive --dereference-recursive --include= --exclude= --exclude-dir= --binary-files=
rg: -ioNnHIlLcvwxFPSsUuaqp0. -egtTABCmMdjrE= --regexp= --glob= --iglob= --type= --type-not= --after-context= --before-context= --context=
  --max-count= --max-columns= --max-depth= --threads= --replace= --encoding= --ignore-case --smart-case --case-sensitive --only-matching
  --line-number --no-line-number --column --with-filename --no-filename --files --files-with-matches --files-without-match --count
  --count-matches --invert-match --word-regexp --line-regexp --fixed-strings --pcre2 --multiline --multiline-dotall --unrestricted
  --hidden --no-ignore --no-ignore-vcs --text --quiet --pretty --heading --no-heading --null --color= --sort= --sortr= --stats --json
  --vimgrep --trim --type-list --no-messages --passthru --max-filesize=
fd: -HIsipagFuL0q1 -eEtdS= --hidden --no-ignore --case-sensitive --ignore-case --glob --regex --fixed-strings --absolute-path --follow
  --full-path --extension= --exclude= --type= --max-depth= --min-depth= --exact-depth= --size= --max-results= --color= --quiet
find: -H -L -P -name= -iname= -path= -ipath= -wholename= -iwholename= -regex= -iregex= -regextype= -type= -xtype= -maxdepth= -mindepth=
  -size= -empty -newer= -mtime= -mmin= -atime= -amin= -ctime= -cmin= -perm= -user= -group= -links= -readable -writable -executable -depth
  -xdev -mount -daystart -ignore_readdir_race -not -a -and -o -or -true -false -print -print0 -printf= -ls -prune -quit
tree: -adfilnpsugDFrtQvCAhJXNS -ILP: --noreport --dirsfirst --gitignore --prune --filelimit= --du --si --charset=
sed | 1: -nE --quiet --silent
jq | 1: -rcesSMCnaj --raw-output --compact-output --exit-status --slurp --sort-keys --null-input --join-output --tab --indent=
diff: -abBcdeEiNpqrstTuwyZ -UCWILx= --unified? --context? --brief --recursive --new-file --side-by-side --width= --color? --ignore-case
  --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-trailing-space --label= --exclude= --text --minimal
  --report-identical-files --suppress-common-lines --strip-trailing-cr
cmp: -bls -in= --print-bytes --verbose --silent --quiet --bytes= --ignore-initial=
stat: -Ltf -c= --format= --printf= --dereference --terse --file-system
file: -bhiLkN0 --brief --mime --mime-type --mime-encoding --dereference
du: -abcDhHklLmsSx0 -dt= --all --apparent-size --bytes --total --human-readable --si --summarize --max-depth= --exclude= --threshold=
df: -ahHiklTP -tx= --human-readable --si --total --print-type
od: -abcdfilosxv -AjNtw= --address-radix= --format= --skip-bytes= --read-bytes=
strings: -a -net= --all --bytes= --radix= --encoding=
md5sum: -bctwz --check --quiet --status --strict
sha1sum: -bctwz --check --quiet --status --strict
sha256sum: -bctwz --check --quiet --status --strict
basename: -az -s= --multiple --suffix=
dirname: -z
realpath: -emLPqsz --relative-to= --relative-base= --canonicalize-existing --canonicalize-missing --no-symlinks
readlink: -efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline
which: -as
echo: -neE
date 1: -uR -I? -dr= --utc --universal --iso-8601? --rfc-3339= --rfc-email --date= --reference=
uname 0: -asnrvmpio --all --kernel-name --kernel-release --machine --operating-system
whoami 0:
id: -ugGnrz --user --group --groups --name
nproc 0: --all
node 0: -v --version
python3 0: -V --version`;

const MORE: Readonly<Record<string, Partial<CommandRule>>> = {
  ...Object.fromEntries(['diff', 'show', 'stash show', 'blame', 'grep', 'cat-file'].map((name) => [`git ${name}`, { printsTracked: {} }])),
  'git log': { printsTracked: { unlessOnly: COMMITS } },
  'git branch': { needs: ['--list'] },
  'git tag': { needs: ['-l', '--list'] },
  grep: { piped: { options: GREP, most: 1 } },
  find: { wholeWords: true },
  sed: { first: /^(?:\d+|\$)(?:,(?:\d+|\$))?p$/u },
  date: { first: /^\+/u },
};

export const COMMAND_RULES: ReadonlyMap<string, CommandRule> = new Map(
  [...TABLE.matchAll(/^(\S[^:|]*?)(?: (\d))?(?: \| (\d))?:((?:.|\n )*)/gmu)].map(([, name = '', most, piped, options = '']) => {
    const rule: CommandRule = { options, ...(most !== undefined && { most: Number(most) }), ...MORE[name] };
    return [name, piped === undefined ? rule : { piped: { ...rule, most: Number(piped) }, ...rule }];
  }),
);
