/**
 * What is known to read only, of a program or of a subcommand. Whatever is not said here is asked about each time: a list of what writes would
 * always lack the next option. So there is no `awk`, `env`, `xargs`, `tee`, `less`, `man`, `npm`, `make`, `docker` or `curl`, and no `sed` but of lines.
 */
export interface CommandRule {
  /**
   * `-ab`: letters of options without a value, `-c=`: with one, `-d?`: with one in the same word if at all, `-e:` with one in the next, `-#`: a
   * number; `--all`, `--sort=`, `--color?` likewise. Not here is what writes, runs a program, waits without end, or names files in another way.
   */
  readonly options: string;
  /** A word after one dash is one option, not letters. */
  readonly wholeWords?: boolean;
  /** The most words beside options and their values; default any number. */
  readonly most?: number;
  /** What the first of them must be. */
  readonly first?: RegExp;
  /** Without one of these options, words would name what is made. */
  readonly needs?: readonly string[];
  /** The same behind a pipe, where it reads nothing else; absent: it does not stand there. */
  readonly piped?: CommandRule;
  /** It may print content that git keeps; but not with these options alone. */
  readonly printsTracked?: { readonly unlessOnly?: string };
}

const DIFF =
  '-puwbaRWzDs -MBCX? -SGUl= --patch --no-patch --unified= --stat? --numstat --shortstat --dirstat? --summary --name-only --name-status --raw ' +
  '--compact-summary --patch-with-stat --word-diff? --word-diff-regex= --color? --no-color --color-words? --color-moved? --find-renames? ' +
  '--no-renames --find-copies? --diff-filter= --pickaxe-regex --pickaxe-all --relative? --text --check --full-index --abbrev? --binary ' +
  '--minimal --patience --histogram --diff-algorithm= --function-context --inter-hunk-context= --no-prefix --ignore-all-space ' +
  '--ignore-space-change --ignore-space-at-eol --ignore-blank-lines --ignore-cr-at-eol --ignore-submodules? --no-ext-diff --no-textconv';
const COMMITS =
  '-# -n= -iEFPgq --max-count= --skip= --since= --after= --until= --before= --author= --committer= --grep= --all-match ' +
  '--invert-grep --regexp-ignore-case --extended-regexp --fixed-strings --oneline --graph --decorate? --no-decorate --all --branches? ' +
  '--tags? --remotes? --glob= --first-parent --merges --no-merges --reverse --follow --full-history --simplify-merges --format= --pretty? ' +
  '--date= --relative-date --abbrev-commit --no-abbrev-commit --topo-order --date-order --author-date-order --left-right --left-only ' +
  '--right-only --cherry --cherry-pick --cherry-mark --boundary --parents --children --no-walk? --walk-reflogs --no-notes --source ' +
  '--stat? --shortstat --numstat --name-only --name-status --no-patch --color? --no-color';
const LOG = `${COMMITS} ${DIFF} -L= -cmt --cc`;
const SHORT_LOG = '-# -n= --oneline --max-count= --date= --format= --pretty?';
const REFS =
  '-i --ignore-case --sort= --format= --merged= --no-merged= --contains= --no-contains= --points-at= --color? --no-color --column? --no-column';
const GREP =
  '-EFGPivwxcLloqsbHhnTZzaI -mABC= -# --extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case --no-ignore-case ' +
  '--invert-match --word-regexp --line-regexp --count --color? --files-without-match --files-with-matches --max-count= --only-matching ' +
  '--quiet --silent --no-messages --byte-offset --with-filename --no-filename --label= --line-number --initial-tab --null ' +
  '--after-context= --before-context= --context= --text --null-data';
const SED: Pick<CommandRule, 'options' | 'first'> = { options: '-nE --quiet --silent', first: /^(?:\d+|\$)(?:,(?:\d+|\$))?p$/u };
const JQ = '-rcesSMCnaj --raw-output --compact-output --exit-status --slurp --sort-keys --null-input --join-output --tab --indent=';

/** Reads files, or behind a pipe its input. */
function filter(options: string, more: Pick<CommandRule, 'most'> = {}): CommandRule {
  return { options, ...more, piped: { options, most: 0 } };
}

export const COMMAND_RULES: ReadonlyMap<string, CommandRule> = new Map<string, CommandRule>([
  ['git --version', { options: '', most: 0 }],
  [
    'git status',
    {
      options:
        '-sbz -u? --short --branch --long --porcelain? --show-stash --ahead-behind --no-ahead-behind --untracked-files? --ignored? ' +
        '--ignore-submodules? --renames --no-renames --find-renames? --column? --no-column',
    },
  ],
  ['git diff', { options: `${DIFF} -q --cached --staged --merge-base --exit-code --quiet`, printsTracked: {} }],
  ['git log', { options: LOG, printsTracked: { unlessOnly: COMMITS } }],
  ['git show', { options: LOG, printsTracked: {} }],
  [
    'git shortlog',
    { options: '-snec --summary --numbered --email --committer --merges --no-merges --since= --until= --author= --group= --all' },
  ],
  ['git reflog', { options: SHORT_LOG, most: 0 }],
  ['git reflog show', { options: SHORT_LOG }],
  ['git stash list', { options: SHORT_LOG, most: 0 }],
  ['git stash show', { options: DIFF, printsTracked: {} }],
  [
    'git blame',
    {
      options:
        '-lswetfncpb -L= -MC? --date= --porcelain --line-porcelain --since= --show-email --show-name --show-number --abbrev= --root --first-parent',
      printsTracked: {},
    },
  ],
  [
    'git grep',
    {
      options:
        '-nHhilLcwvIaoEGFPpWqz -eABCm= -# --line-number --column --files-with-matches --files-without-match --count --word-regexp --ignore-case ' +
        '--invert-match --name-only --only-matching --extended-regexp --fixed-strings --perl-regexp --basic-regexp --break --heading ' +
        '--show-function --function-context --context= --after-context= --before-context= --max-depth= --max-count= --and --or --not ' +
        '--all-match --cached --color? --no-color --full-name --quiet --text',
      printsTracked: {},
    },
  ],
  ['git branch', { options: `-arv --all --remotes --verbose --show-current --list --abbrev? ${REFS}`, needs: ['--list'] }],
  ['git tag', { options: `-l -n? --list ${REFS}`, needs: ['-l', '--list'] }],
  ['git remote', { options: '', most: 0 }],
  ['git worktree list', { options: '-vz --porcelain --verbose', most: 0 }],
  [
    'git rev-parse',
    {
      options:
        '-q --verify --quiet --short? --abbrev-ref? --symbolic-full-name --symbolic --all --branches? --tags? --remotes? --show-toplevel ' +
        '--show-prefix --show-cdup --show-superproject-working-tree --git-dir --absolute-git-dir --git-common-dir --is-inside-work-tree ' +
        '--is-inside-git-dir --is-bare-repository --is-shallow-repository',
    },
  ],
  [
    'git rev-list',
    {
      options:
        '-# -n= --max-count= --skip= --since= --until= --after= --before= --author= --grep= --count --all --branches? --tags? --remotes? ' +
        '--left-right --no-merges --merges --first-parent --reverse --oneline --parents --topo-order --date-order --abbrev-commit --objects',
    },
  ],
  [
    'git ls-files',
    {
      options:
        '-cdmoiskutvz -x= --cached --deleted --modified --others --ignored --stage --unmerged --killed --directory --no-empty-directory ' +
        '--exclude= --exclude-standard --error-unmatch --full-name --deduplicate --eol --abbrev?',
    },
  ],
  ['git ls-tree', { options: '-rtdlz --name-only --name-status --full-name --full-tree --long --abbrev? --object-only --format=' }],
  ['git cat-file', { options: '-tsep', printsTracked: {} }],
  [
    'git describe',
    { options: '--all --tags --contains --abbrev= --exact-match --long --match= --exclude= --always --first-parent --dirty?' },
  ],
  ['git merge-base', { options: '-a --all --octopus --independent --is-ancestor --fork-point' }],
  ['git name-rev', { options: '--tags --refs= --exclude= --name-only --all --always' }],
  ['git for-each-ref', { options: `--count= ${REFS}` }],
  ['git show-ref', { options: '-dq -s? --head --heads --tags --branches --verify --dereference --hash? --abbrev? --quiet' }],
  ['git check-ignore', { options: '-qvn --quiet --verbose --non-matching --no-index' }],
  ['git count-objects', { options: '-vH --verbose --human-readable', most: 0 }],
  [
    'ls',
    {
      options:
        '-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 -ITw= --all --almost-all --author --classify? --color? --directory --full-time ' +
        '--group-directories-first --human-readable --si --inode --no-group --numeric-uid-gid --recursive --reverse --size --sort= --time= ' +
        '--time-style= --ignore= --hide= --format= --file-type',
    },
  ],
  ['pwd', { options: '-LP --logical --physical', most: 0 }],
  ['cat', filter('-AbeEnstTuv --show-all --number --number-nonblank --squeeze-blank --show-ends --show-tabs --show-nonprinting')],
  ['head', filter('-qvz -cn= -# --bytes= --lines= --quiet --silent --verbose --zero-terminated')],
  ['tail', filter('-qvz -cn= -# --bytes= --lines= --quiet --silent --verbose --zero-terminated')],
  ['wc', filter('-clmwL --bytes --chars --lines --words --max-line-length')],
  ['nl', filter('-p -bdfhilnsvw= --body-numbering= --number-format= --number-width= --number-separator=')],
  ['tac', filter('')],
  ['rev', filter('')],
  ['cut', filter('-szn -bcdf= --bytes= --characters= --delimiter= --fields= --only-delimited --complement --output-delimiter=')],
  ['tr', { options: '-cCdst', most: 2, piped: { options: '-cCdst', most: 2 } }],
  [
    'sort',
    filter(
      '-bdfghiMnRrVcCmsuz -kt= --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --human-numeric-sort ' +
        '--month-sort --numeric-sort --reverse --version-sort --check? --merge --stable --unique --zero-terminated --key= --field-separator=',
    ),
  ],
  ['uniq', filter('-cdDiuz -fsw= --count --repeated --all-repeated? --ignore-case --unique --skip-fields= --skip-chars=', { most: 1 })],
  [
    'grep',
    {
      options: `${GREP} -rR -e= --regexp= --recursive --dereference-recursive --include= --exclude= --exclude-dir= --binary-files=`,
      piped: { options: GREP, most: 1 },
    },
  ],
  [
    'rg',
    {
      options:
        '-ioNnHIlLcvwxFPSsUuaqp0. -egtTABCmMdjrE= --regexp= --glob= --iglob= --type= --type-not= --after-context= --before-context= --context= ' +
        '--max-count= --max-columns= --max-depth= --threads= --replace= --encoding= --ignore-case --smart-case --case-sensitive ' +
        '--only-matching --line-number --no-line-number --column --with-filename --no-filename --files --files-with-matches ' +
        '--files-without-match --count --count-matches --invert-match --word-regexp --line-regexp --fixed-strings --pcre2 --multiline ' +
        '--multiline-dotall --unrestricted --hidden --no-ignore --no-ignore-vcs --text --quiet --pretty --heading --no-heading --null ' +
        '--color= --sort= --sortr= --stats --json --vimgrep --trim --type-list --no-messages --passthru --max-filesize=',
    },
  ],
  [
    'fd',
    {
      options:
        '-HIsipagFuL0q1 -eEtdS= --hidden --no-ignore --case-sensitive --ignore-case --glob --regex --fixed-strings --absolute-path --follow ' +
        '--full-path --extension= --exclude= --type= --max-depth= --min-depth= --exact-depth= --size= --max-results= --color= --quiet',
    },
  ],
  [
    'find',
    {
      options:
        '-H -L -P -name= -iname= -path= -ipath= -wholename= -iwholename= -regex= -iregex= -regextype= -type= -xtype= -maxdepth= ' +
        '-mindepth= -size= -empty -newer= -mtime= -mmin= -atime= -amin= -ctime= -cmin= -perm= -user= -group= -links= -readable -writable ' +
        '-executable -depth -xdev -mount -daystart -ignore_readdir_race -not -a -and -o -or -true -false -print -print0 -printf= -ls -prune -quit',
      wholeWords: true,
    },
  ],
  ['tree', { options: '-adfilnpsugDFrtQvCAhJXNS -ILP: --noreport --dirsfirst --gitignore --prune --filelimit= --du --si --charset=' }],
  ['sed', { ...SED, piped: { ...SED, most: 1 } }],
  ['jq', { options: JQ, piped: { options: JQ, most: 1 } }],
  [
    'diff',
    {
      options:
        '-abBcdeEiNpqrstTuwyZ -UCWILx= --unified? --context? --brief --recursive --new-file --side-by-side --width= --color? --ignore-case --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-trailing-space --label= --exclude= --text --minimal --report-identical-files --suppress-common-lines --strip-trailing-cr',
    },
  ],
  ['cmp', { options: '-bls -in= --print-bytes --verbose --silent --quiet --bytes= --ignore-initial=' }],
  ['stat', { options: '-Ltf -c= --format= --printf= --dereference --terse --file-system' }],
  ['file', { options: '-bhiLkN0 --brief --mime --mime-type --mime-encoding --dereference' }],
  [
    'du',
    {
      options:
        '-abcDhHklLmsSx0 -dt= --all --apparent-size --bytes --total --human-readable --si --summarize --max-depth= --exclude= --threshold=',
    },
  ],
  ['df', { options: '-ahHiklTP -tx= --human-readable --si --total --print-type' }],
  ['od', { options: '-abcdfilosxv -AjNtw= --address-radix= --format= --skip-bytes= --read-bytes=' }],
  ['strings', { options: '-a -net= --all --bytes= --radix= --encoding=' }],
  ['md5sum', { options: '-bctwz --check --quiet --status --strict' }],
  ['sha1sum', { options: '-bctwz --check --quiet --status --strict' }],
  ['sha256sum', { options: '-bctwz --check --quiet --status --strict' }],
  ['basename', { options: '-az -s= --multiple --suffix=' }],
  ['dirname', { options: '-z' }],
  ['realpath', { options: '-emLPqsz --relative-to= --relative-base= --canonicalize-existing --canonicalize-missing --no-symlinks' }],
  ['readlink', { options: '-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline' }],
  ['which', { options: '-as' }],
  ['echo', { options: '-neE' }],
  ['date', { options: '-uR -I? -dr= --utc --universal --iso-8601? --rfc-3339= --rfc-email --date= --reference=', most: 1, first: /^\+/u }],
  ['uname', { options: '-asnrvmpio --all --kernel-name --kernel-release --machine --operating-system', most: 0 }],
  ['whoami', { options: '', most: 0 }],
  ['id', { options: '-ugGnrz --user --group --groups --name' }],
  ['nproc', { options: '--all', most: 0 }],
  ['node', { options: '-v --version', most: 0 }],
  ['python3', { options: '-V --version', most: 0 }],
]);
