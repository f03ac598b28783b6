import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ContextProvider } from 'pith';
import { fakeClock } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { probeSandboxing } from '@pith/supervised-process';
import { Jail, stateFolder } from '@pith/safe-files';
import { ProcessRecords } from '../../../sandbox/extensions/project_tools/shell/process-records.ts';
import { CommandWatch } from '../../../sandbox/extensions/project_tools/shell/command-watch.ts';
import { linkedRepository } from '../../../sandbox/extensions/project_tools/shell/linked-repository.ts';
import { passing, until } from '../../waiting.ts';
import { words } from '../../words.ts';
import { cloneWith } from './clone.ts';

const { available } = await probeSandboxing();
const isLong = process.env['PITH_TEST_LONG'] === '1';
const out = (result: unknown) => (result as { readonly output?: string }).output ?? JSON.stringify(result);

/** An attack by a command in a repository, and what the person does there afterwards. `$RUN` starts what leaves a trace. */
interface Attack {
  readonly name: string;
  /** What the person has set up before. */
  readonly before?: string;
  readonly attack: string;
  readonly person: string;
  /** False: git takes nothing from it by itself. */
  readonly works?: false;
}

/** What public issue trackers report of agents' sandboxes, and what the documentation of git names as read or started. */
const ATTACKS: readonly Attack[] = [
  { name: 'core.fsmonitor by git config', attack: 'git config core.fsmonitor "$RUN"', person: 'git status' },
  { name: 'core.fsmonitor written', attack: 'printf "[core]\\nfsmonitor = $RUN\\n" >> .git/config', person: 'git status' },
  {
    name: 'settings replaced by a rename',
    attack: 'sed "s|^.core.|[core]\\nfsmonitor = $RUN|" .git/config > .git/c && mv -f .git/c .git/config',
    person: 'git status',
  },
  { name: 'settings by a link', attack: 'printf "[core]\\nfsmonitor = $RUN\\n" > e; ln -sf ../e .git/config', person: 'git status' },
  {
    name: 'commondir',
    attack: 'cp -r .git evil && printf "[core]\\nfsmonitor = $RUN\\n" >> evil/config; echo ../evil > .git/commondir',
    person: 'git status',
  },
  {
    name: 'config.worktree',
    before: 'git config extensions.worktreeConfig true',
    attack: 'printf "[core]\\nfsmonitor = $RUN\\n" > .git/config.worktree',
    person: 'git status',
  },
  {
    name: 'a hook',
    attack: 'mkdir -p .git/hooks; printf "#!/bin/sh\\n$RUN\\n" > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout',
    person: 'git switch -qc x',
  },
  {
    name: 'the folder of hooks moved',
    attack:
      'mv .git/hooks .git/h; mkdir -p .git/hooks; printf "#!/bin/sh\\n$RUN\\n" > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit',
    person: 'git commit -q --allow-empty -m x',
  },
  {
    name: 'the folder of hooks removed',
    before: 'rm -rf .git/hooks',
    attack: 'mkdir .git/hooks; printf "#!/bin/sh\\n$RUN\\n" > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit',
    person: 'git commit -q --allow-empty -m x',
  },
  {
    name: 'a folder of hooks that is a link',
    before: 'rm -rf .git/hooks; mkdir -p ../h; ln -s ../../h .git/hooks',
    attack: 'rm .git/hooks; mkdir .git/hooks; printf "#!/bin/sh\\n$RUN\\n" > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit',
    person: 'git commit -q --allow-empty -m x',
  },
  {
    name: 'core.hooksPath',
    attack: 'git config core.hooksPath .h; mkdir .h; printf "#!/bin/sh\\n$RUN\\n" > .h/pre-commit; chmod +x .h/pre-commit',
    person: 'git commit -q --allow-empty -m x',
  },
  { name: 'an alias', attack: 'git config alias.st "!$RUN"', person: 'git st' },
  { name: 'core.pager', attack: 'git config core.pager "$RUN"', person: 'script -qec "git --paginate log" /dev/null' },
  { name: 'core.editor', attack: 'git config core.editor "$RUN; true"', person: 'git commit -q --allow-empty --amend' },
  { name: 'sequence.editor', attack: 'git config sequence.editor "$RUN; true"', person: 'git rebase -q -i --root' },
  { name: 'core.sshCommand', attack: 'git config core.sshCommand "$RUN"', person: 'git ls-remote ssh://localhost/x' },
  { name: 'core.gitProxy', attack: 'git config core.gitProxy "$RUN"', person: 'git ls-remote git://localhost/x' },
  {
    name: 'gpg.program',
    attack: 'git config commit.gpgSign true; git config gpg.program "$RUN"',
    person: 'git commit -q --allow-empty -m x',
  },
  {
    name: 'a filter that cleans',
    attack: 'git config filter.x.clean "$RUN; cat"; echo "*.txt filter=x" > .gitattributes',
    person: 'echo y > b.txt; git add b.txt',
  },
  {
    name: 'a filter by info/attributes',
    before: 'git config filter.x.smudge "$RUN; cat"',
    attack: 'mkdir -p .git/info; echo "*.txt filter=x" > .git/info/attributes',
    person: 'rm a.txt; git checkout -q a.txt',
  },
  {
    name: 'textconv',
    attack: 'git config diff.x.textconv "$RUN; cat"; echo "*.txt diff=x" > .gitattributes',
    person: 'echo y >> a.txt; git diff',
  },
  { name: 'diff.external', attack: 'git config diff.external "$RUN"', person: 'echo y >> a.txt; git diff' },
  {
    name: 'a merge driver',
    attack: 'git config merge.x.driver "$RUN"; echo "*.txt merge=x" > .gitattributes',
    person: 'git switch -qc x; echo 1 > a.txt; git commit -qam 1; git switch -q main; echo 2 > a.txt; git commit -qam 2; git merge x',
  },
  { name: 'include.path', attack: 'git config include.path ../e; printf "[core]\\nfsmonitor = $RUN\\n" > e', person: 'git status' },
  { name: 'includeIf', attack: 'git config includeIf.gitdir:/.path ../e; printf "[core]\\nfsmonitor = $RUN\\n" > e', person: 'git status' },
  {
    name: 'a file that is included and absent',
    before: 'git config include.path ../absent.cfg',
    attack: 'printf "[core]\\nfsmonitor = $RUN\\n" > absent.cfg',
    person: 'git status',
  },
  {
    name: 'a credential helper',
    attack: 'git config credential.helper "!$RUN"',
    person: 'printf "protocol=https\\nhost=x\\n\\n" | git credential fill',
  },
  {
    name: 'a program for a remote',
    attack: 'git init -q --bare r; git config remote.o.url "$PWD/r"; git config remote.o.uploadpack "$RUN;"',
    person: 'git fetch -q o',
  },
  { name: '.git moved and made anew', attack: 'mv .git g; git init -q; git config core.fsmonitor "$RUN"', person: 'git status' },
  {
    name: '.git as a file',
    attack: 'rm -rf .git; git init -q --separate-git-dir=g .; git config core.fsmonitor "$RUN"',
    person: 'git status',
  },
  {
    name: 'a separate folder of git',
    before: 'mv .git store; echo "gitdir: store" > .git',
    attack: 'printf "[core]\\nfsmonitor = $RUN\\n" >> store/config; rm -f .git; git init -q; git config core.fsmonitor "$RUN"',
    person: 'git status',
  },
  {
    name: 'a separate folder of git, behind many',
    before: 'mkdir -p d/e; mv .git d/e/store; echo "gitdir: store" > d/e/.git',
    attack: 'printf "[core]\\nfsmonitor = $RUN\\n" >> d/e/store/config',
    person: 'git -C d/e status',
  },
  {
    name: 'a folder of hooks that is a link, behind many',
    before: 'mkdir -p d/e/h; mv .git d/e; rm -rf d/e/.git/hooks; ln -s ../h d/e/.git/hooks',
    attack: 'printf "#!/bin/sh\\n$RUN\\n" > d/e/h/pre-commit; chmod +x d/e/h/pre-commit',
    person: 'git -C d/e commit -q --allow-empty -m x',
  },
  {
    name: 'a bare repository with a linked working tree',
    before: 'git clone -q --bare . .bare; git -C .bare worktree add -q ../tree; rm -r .git; mv tree/.git .',
    attack: 'mkdir -p .bare/hooks; printf "#!/bin/sh\\n$RUN\\n" > .bare/hooks/post-checkout; chmod +x .bare/hooks/post-checkout',
    person: 'git switch -qc x',
  },
  {
    name: 'a submodule',
    before: 'git submodule --quiet add ../u s; git commit -qm s',
    attack:
      'printf "[core]\\nfsmonitor = $RUN\\n" >> .git/modules/s/config; rm -f s/.git; git -C s init -q; git -C s config core.fsmonitor "$RUN"',
    person: 'git status',
  },
  {
    name: 'a submodule that is not fetched',
    before: 'git submodule --quiet add ../u s; git commit -qm s; git submodule --quiet deinit -f s; rm -rf .git/modules/s',
    attack: 'git init -q s; git -C s commit -q --allow-empty -m x; git -C s config core.fsmonitor "$RUN"',
    person: 'git status',
  },
  {
    name: 'a submodule that is not checked out',
    before: 'git submodule --quiet add ../u s; git commit -qm s; git submodule --quiet deinit -f s',
    attack: 'printf "[core]\\nfsmonitor = $RUN\\n" >> .git/modules/s/config',
    person: 'git submodule update --init; git -C s status',
  },
  {
    name: 'submodule.*.update',
    before: 'git submodule --quiet add ../u s; git commit -qm s',
    attack: 'git config submodule.s.update "!$RUN"; git -C s commit -q --allow-empty -m x',
    person: 'git submodule update',
  },
  {
    name: 'a linked working tree',
    before: 'git worktree add -q wt; git config extensions.worktreeConfig true',
    attack: 'printf "[core]\\nfsmonitor = $RUN\\n" > .git/worktrees/wt/config.worktree',
    person: 'git -C wt status',
  },
  {
    name: 'commondir of a linked working tree',
    before: 'git worktree add -q wt',
    attack: 'cp -r .git e; printf "[core]\\nfsmonitor = $RUN\\n" >> e/config; echo "$PWD/e" > .git/worktrees/wt/commondir',
    person: 'git -C wt status',
  },
  {
    name: 'a linked working tree outside the project',
    before: 'git worktree add -q ../../outside; git config extensions.worktreeConfig true',
    attack: 'printf "[core]\\nfsmonitor = $RUN\\n" > .git/worktrees/outside/config.worktree',
    person: 'git -C ../../outside status',
  },
  {
    name: 'a program of the project that settings name',
    before: 'mkdir tools; printf "#!/bin/sh\\n" > tools/m; chmod +x tools/m; git config core.fsmonitor tools/m',
    attack: 'echo "$RUN" >> tools/m',
    person: 'git status',
  },
  {
    name: 'another repository by core.worktree',
    before: 'git config core.worktree ..',
    attack: 'git config core.fsmonitor "$RUN"; echo ../e > .git/commondir; rm .git/commondir',
    person: 'git status',
  },
  {
    name: 'remotes of the old forms',
    before: 'git config protocol.ext.allow always',
    attack: 'mkdir -p .git/remotes .git/branches; echo "URL: ext::$RUN" > .git/remotes/o; echo "ext::$RUN" > .git/branches/b',
    person: 'git fetch o; git fetch b',
  },
  {
    name: 'objects of another repository',
    attack: 'echo "$PWD/e" > .git/objects/info/alternates',
    person: 'git status; git log',
    works: false,
  },
  {
    name: 'a name of a branch in a prompt',
    attack: 'git switch -qc "\\$($RUN)"',
    person: '. /usr/lib/git-core/git-sh-prompt; PS1="\\$(__git_ps1)\\$ "; echo "${PS1@P}"',
    works: false,
  },
];

/** `~/project`, with a secret, as a command in it could make it: the repository of the tree in which the script runs. */
const LIKE_A_REPOSITORY = [
  'mkdir -p ~/project/objects ~/project/refs ~/project/worktrees/x; echo ref: refs/heads/main | tee ~/project/HEAD > ~/project/worktrees/x/HEAD; echo CANARY > ~/project/.env;',
  'echo ../.. > ~/project/worktrees/x/commondir; echo "$PWD/.git" > ~/project/worktrees/x/gitdir; rm -f .git; echo "gitdir: $HOME/project/worktrees/x" > .git;',
].join(' ');

/** A repository for each attack, and for each a program outside the project that leaves a trace. */
function prepared(clone: Awaited<ReturnType<typeof cloneWith>>) {
  const traces = path.join(clone.home, 'traces');
  const files = (part: 'before' | 'attack' | 'person', more = '') =>
    ATTACKS.map(
      ({ [part]: script }, at) => `(cd c${at} && ${more} RUN=${traces}/run-${at}; ${script ?? 'true'}\n) < /dev/null > /dev/null 2>&1\n`,
    ).join('');
  mkdirSync(traces);
  for (const at of ATTACKS.keys()) writeFileSync(path.join(traces, `run-${at}`), `#!/bin/sh\ntouch ${traces}/ran-${at}\n`, { mode: 0o755 });
  clone.person('git init -q --template= t && cd t && echo a > a.txt && git add -A && git commit -qm a');
  clone.person(`${ATTACKS.map((_, at) => `cp -r t c${at}; `).join('')} mv t u\n${files('before')}`);
  return {
    attack: files('attack'),
    /** The names of those whose program ran. */
    afterwards(): readonly string[] {
      clone.person(files('person', 'unset GIT_PAGER PAGER;'));
      const ran = readdirSync(traces).filter((name) => name.startsWith('ran-'));
      return ran.map((name) => ATTACKS[Number(name.slice(4))]?.name ?? name).sort();
    },
  };
}

describe.skipIf(!available)('S1, S2 what git starts outside', () => {
  it(`S2 none of ${ATTACKS.length} attacks on a repository makes the git or the shell of the person run something, with a used home`, async () => {
    const clone = await cloneWith({});
    const { attack, afterwards } = prepared(clone);
    writeFileSync(clone.at('attacks.sh'), attack);
    // Commits still work around linked working trees, also after so many places.
    const around = ATTACKS.flatMap(({ before = '' }, at) => (before.startsWith('git worktree add -q wt') ? [`c${at}`] : []));
    const commits = around.map((folder) => `git -C ${folder} commit -q --allow-empty -m x && `).join('');
    const command = `bash attacks.sh; ${commits} echo done`;
    expect(out(await clone.call('shell', { command }))).toContain('done');
    expect(afterwards()).toEqual([]);
  });

  it.runIf(isLong)('S2 where nothing holds them, all of these attacks work', async () => {
    const clone = await cloneWith({});
    const { attack, afterwards } = prepared(clone);
    clone.person(attack);
    expect(afterwards()).toEqual(ATTACKS.flatMap(({ name, works }) => (works === false ? [] : [name])).sort());
  });

  it('S1 a new repository and its gitlink are named, with what git would start; only a gitlink to a new one is taken out of the index, and nothing else is changed', async () => {
    const clone = await cloneWith({ 'a.txt': 'a\n' });
    const told: string[] = [];
    clone.kernel.events.handle('notify', ({ text, kind, threadId }) => void told.push(`${kind} ${threadId} ${text}`));
    clone.person('git init -q; git add a.txt; git commit -qm a; git init -q --template= node_modules/old');
    const evil = `touch ${clone.home}/ran`;
    const command = [
      `evil() { git -C "$1" config core.fsmonitor "${evil}"; }`,
      'git init -q node_modules/x; git -C node_modules/x commit -q --allow-empty -m x; evil node_modules/x',
      'for each in x old; do git update-index --add --cacheinfo 160000,$(git -C node_modules/x rev-parse HEAD),node_modules/$each; done',
      'mkdir plain; git init -q plain; git init -q --bare fixture.git; evil fixture.git',
      'printf "#!/bin/sh\n" > node_modules/old/.git/hooks-x; mkdir node_modules/old/.git/hooks; printf "#!/bin/sh\n" > node_modules/old/.git/hooks/post-checkout',
      `mkdir .git/rebase-merge; echo "exec ${evil}" > .git/rebase-merge/git-rebase-todo`,
    ].join('\n');
    const printed = out(await clone.call('shell', { command }));
    for (const said of [
      `node_modules/x/.git is a new repository: git in node_modules/x starts core.fsmonitor=${evil}`,
      'node_modules/x is a repository in the index: git in the folder around it starts its programs, too; Pith took it out of the index again',
      'node_modules/old is a repository in the index: git in the folder around it starts its programs, too\n',
      `fixture.git is a new repository: git in fixture.git starts core.fsmonitor=${evil}`,
      'the repository node_modules/old/.git has other settings or hooks: git in node_modules/old starts the hook post-checkout',
      '- plain/.git is a new repository\n',
      `.git has other settings or hooks: git in . starts at \`git rebase --continue\`: exec ${evil}`,
    ])
      expect(printed).toContain(said);
    await until(() => told.length > 0);
    expect(told).toEqual([
      expect.stringMatching(
        /^warning thread Warning: `evil\(\)[^]*left files that start by themselves later:\n- [^]*node_modules\/x\/\.git is a new repository/u,
      ),
    ]);
    expect(clone.person(`git status; git ls-files; ls -d node_modules/x/.git plain/.git fixture.git; ls ${clone.home}/ran`)).toMatch(
      /a\.txt\nnode_modules\/old\nfixture\.git\nnode_modules\/x\/\.git\nplain\/\.git\n[^\n]*No such file/u,
    );
    expect(out(await clone.call('shell', { command: 'true' }))).toBe('(no output)\n[exit code 0]'); // it is said once
  });

  it('S1 what Mercurial starts by settings is held, also where it is absent, and of Jujutsu what is there; what comes is named', async () => {
    const clone = await cloneWith({
      '.hg/requires': 'store\n',
      '.jj/repo/config.toml': '',
      '.jj/repo/store/git/config': '',
      'sub/.hg/hgrc': '',
    });
    const evil = (file: string) => `printf "[hooks]\\npre-status = touch ran\\n" > ${file}`;
    const held = words('.hg/hgrc .hg/hgrc-not-shared .hg/requires .jj/repo/config.toml .jj/repo/store/git/config sub/.hg/hgrc');
    const others = ['mv .hg g', 'rm -f .hg/hgrc', 'mv .jj/repo r', 'echo x > .hg/dirstate', 'mkdir -p new/.hg', evil('new/.hg/hgrc')];
    const printed = out(
      await clone.call('shell', { command: [...held.map(evil), ...others, evil('.jj/workspace-config.toml')].join('\n') }),
    );
    for (const file of held) expect(printed).toContain(`${file}: Read-only file system`);
    expect(printed).toContain("cannot move '.hg' to 'g'");
    expect(printed).toContain('new/.hg is a new repository: hg in new starts what hgrc says');
    expect(printed).toContain('the repository .jj has other settings or hooks: jj in . starts what workspace-config.toml says');
    expect(clone.person(`cat ${held.filter((file) => !file.endsWith('requires')).join(' ')}; cat .hg/requires .hg/dirstate`)).toBe(
      'store\nx\n',
    );
    expect(out(await clone.call('shell', { command: `${evil('new/.hg/hgrc')}; mkdir -p lib/.hg` }))).toContain(
      'lib/.hg is a new repository]',
    );
  });

  it('S1 a file where a folder is expected stops no command, and one that names the repository of a workspace is held', async () => {
    const clone = await cloneWith({ '.jj/repo': '../main/.jj/repo', 'a.txt': '' });
    const plant = [
      'mkdir hg jj jk sub; touch hg/.hg jj/.jj; mkfifo sub/.jj; mkdir -p jk/.jj/repo; touch jk/.jj/repo/store',
      'mkdir -p i/.git; touch i/f i/.git/HEAD i/.git/info; printf "[a]\\nb = f/x\\n" > i/.git/config',
      'printf "[submodule \\"s\\"]\\npath = a.txt/x\\n" > .gitmodules; mkdir -p g/.jj/repo/store/git',
    ];
    expect(out(await clone.call('shell', { command: plant.join('\n') }))).toContain('hg/.hg is a new repository');
    const printed = out(
      await clone.call('shell', {
        command: [
          'for f in .jj/repo hg/.hg jj/.jj jk/.jj/repo/store; do echo x > $f; done; mv .jj/repo r; echo made',
          'echo x > g/.jj/repo/store/git_target; mkdir -p h/.jj/repo/store/git; echo x > h/.jj/repo/store/git/config',
        ].join('\n'),
      }),
    );
    for (const said of ['.jj/repo', 'hg/.hg', 'jj/.jj', 'jk/.jj/repo/store']) expect(printed).toContain(`${said}: Read-only file system`);
    for (const said of [
      "'.jj/repo': Device or resource busy",
      'what repo/store/git_target says',
      'h/.jj is a new repository: jj in h starts what',
      'made\n',
    ])
      expect(printed).toContain(said);
    expect(out(await clone.call('shell', { command: 'true' }))).toBe('(no output)\n[exit code 0]');
  });

  it('S1 of a linked working tree whose repository lies outside commands read that repository, and change nothing of it', async () => {
    const clone = await cloneWith({});
    rmdirSync(clone.root);
    mkdirSync(path.join(clone.home, 'outer'));
    const outside = (script: string) =>
      execFileSync('bash', ['-c', script], { cwd: clone.home, env: { ...process.env, HOME: clone.home } });
    outside(
      'cd outer; git init -q; echo a > a.txt; git add -A; git commit -qm first; git worktree add -q -b fix/credentials ../src/shop; chmod -R go= .',
    );
    expect(await clone.question('shell', { command: 'git log --oneline' })).toBeNull();
    expect(out(await clone.call('shell', { command: 'git log --oneline' }))).toContain(' first\n[exit code 0]');
    const before = outside('cd outer; find .git -type f | sort | xargs sha256sum').toString();
    const printed = out(
      await clone.call('shell', {
        command:
          'git status; echo b > b.txt; git add b.txt; git config core.fsmonitor ./evil; rm .git; echo x > ../../outer/.git/hooks/pre-commit',
      }),
    );
    for (const said of [
      'On branch fix/credentials',
      "index.lock': Read-only file system",
      "cannot remove '.git'",
      'pre-commit: Read-only file system',
      '[the repository of this linked working tree is outside the project: commands read it and cannot change it; ask the person to run the command]',
      '[commands cannot change settings of git; ask the person to run the command]',
    ])
      expect(printed).toContain(said);
    expect(outside('cd outer; find .git -type f | sort | xargs sha256sum').toString()).toBe(before);
    expect(clone.person('git add -A; git commit -qm second; git log --format=%s')).toBe('second\nfirst\n');
  });

  it('S1 of a linked working tree commands that run unasked print no settings of the repository outside', async () => {
    const clone = await cloneWith({});
    rmdirSync(clone.root);
    execFileSync(
      'bash',
      [
        '-c',
        'git init -q outer; cd outer; git commit -q --allow-empty -m first; git remote add origin https://t:CANARY@host/x; git worktree add -q ../src/shop',
      ],
      { cwd: clone.home, env: { ...process.env, HOME: clone.home } },
    );
    const repository = path.join(clone.home, 'outer/.git');
    clone.person(`ln -s ${repository} link`);
    const printed = async (command: string) => {
      expect(await clone.question('shell', { command }), command).toBeNull();
      return out(await clone.call('shell', { command }));
    };
    for (const program of ['cat', 'head -n 9', 'grep -n url', 'sed -n 1,20p', 'sort', 'diff .git'])
      for (const file of [`${repository}/config`, '../../outer/.git/config', 'link/config'])
        expect(await printed(`${program} ${file}`)).toMatch(/No such file/iu);
    expect(await printed(`grep -r CANARY ${clone.home}`)).not.toContain('host/x');
    for (const command of [
      'git status',
      'git remote',
      'git branch -avv',
      'git log --oneline | cat',
      'git diff link/config a.txt',
      'git grep url link',
    ])
      expect(await printed(command)).not.toContain('CANARY');
    for (const command of ['git remote -v', 'git config --list', 'git ls-remote --get-url', `git diff .git ${repository}/config`])
      expect(await clone.question('shell', { command }), command).not.toBeNull();
  });

  it.each(['git status', 'git log | head', 'git commit -m x'])(
    'S1 a submodule that is opened as the project is told where its repository lies: %s',
    async (command) => {
      const clone = await cloneWith({ 'a.txt': '' });
      clone.person('git init -q ~/src/.git/modules/s; echo "gitdir: ../.git/modules/s/.git" > .git');
      expect(out(await clone.call('shell', { command }))).toContain('[the repository of this folder is outside the project');
    },
  );

  it('S1 a .git that names a repository which does not name the tree as its own shows commands nothing of it', async () => {
    const clone = await cloneWith({ 'a.txt': '' });
    clone.person(
      'mkdir ~/other ~/.password-store; for r in ~/other ~/.password-store; do git init -q $r; git -C $r commit -q --allow-empty -m x; done',
    );
    const folder = `${clone.home}/other/.git`;
    const found = async (given: string) => {
      clone.person(given);
      return (await linkedRepository({ root: clone.root, home: clone.home }, 1000, new AbortController().signal))?.folder ?? null;
    };
    for (const given of [
      `echo "gitdir: ${folder}" > .git`, // itself
      'mkdir ~/fake; echo "$PWD/.git" > ~/fake/gitdir; echo ../other/.git > ~/fake/commondir; echo "gitdir: $HOME/fake" > .git', // from aside
      `git -C ~/other worktree add -q ~/theirs; cp ~/theirs/.git .git`, // of another tree
      'mkdir -p e/worktrees/x e/objects e/refs; touch e/HEAD; echo ../.. > e/worktrees/x/commondir; echo "$PWD/.git" > e/worktrees/x/gitdir; echo "gitdir: $PWD/e/worktrees/x" > .git', // of the project itself
      'rm .git; git -C ~/.password-store worktree add -qf ~/w; echo "$PWD/.git" > ~/.password-store/.git/worktrees/w/gitdir; cp ~/w/.git .git', // where keys are kept
      'rm .git; mkfifo .git',
      `rm .git; ${LIKE_A_REPOSITORY} git init -q ~/project`, // a project with a repository of its own
      `rm -rf ~/project; ${LIKE_A_REPOSITORY} mkdir ~/project/sandbox`,
      `rm -rf ~/project; ${LIKE_A_REPOSITORY} mv ~/project/refs ~/r; ln -s ~/r ~/project/refs`,
    ])
      expect(await found(given), given).toBeNull();
    expect(await found(`rm .git; echo "$PWD/.git" > ${folder}/worktrees/theirs/gitdir; cp ~/theirs/.git .git`)).toBe(folder);
    // Both ways by relative paths, as `worktree.useRelativePaths` writes them.
    expect(
      await found(
        `realpath --relative-to=${folder}/worktrees/theirs "$PWD/.git" > ${folder}/worktrees/theirs/gitdir; echo "gitdir: ../../other/.git/worktrees/theirs" > .git`,
      ),
    ).toBe(folder);
    clone.person('rm .git; mkdir ~/other/.git/modules; echo "gitdir: $HOME/other/.git/modules" > .git');
    expect(out(await clone.call('shell', { command: 'git status; true' }))).toContain(
      '[the repository of this folder is outside the project, where commands see nothing; ask the person to run the command, or to start Pith in the folder above both]',
    );
  });

  it('S1 a folder that a command made look like the repository of this tree shows what git reads there, and no file with secrets', async () => {
    const clone = await cloneWith({ 'a.txt': '' });
    clone.person(
      `${LIKE_A_REPOSITORY} cd ~/project; mkdir -p objects/.git src config logs/app refs/heads worktrees/other/conf; echo CANARY > id_rsa; echo CANARY > src/a.ts; echo CANARY > logs/app/a.log; echo CANARY > config/a.json;` +
        'for d in objects objects/.git refs/heads worktrees/x info; do mkdir -p $d/conf; echo CANARY > $d/conf/.env; done; ln -s ../src objects/src; ln -s src reftable; echo CANARY > worktrees/other/conf/a; echo CANARY > refs/heads/credentials; echo CANARY > info/notes; echo seen > info/exclude',
    );
    const run = async (command: string) => out(await clone.call('shell', { command }));
    const printed = await run('cat .git; cd ~/project && cat info/exclude HEAD && grep -r . . ; cat .env id_rsa src/* objects/src/*; true');
    expect(printed).toMatch(/gitdir: [^]*seen\nref: refs\/heads\/main\n/u);
    expect(printed).not.toContain('CANARY');
    expect(await run('git status; git diff --no-index a.txt ../../project/.env')).not.toContain('CANARY');
  });

  it('S1 in a project without git a new repository in the root is named; what is there is held from then on', async () => {
    const clone = await cloneWith({ 'a.txt': '' });
    expect(out(await clone.call('shell', { command: 'git init -q && git config core.fsmonitor ./evil' }))).toContain(
      '.git is a new repository: git in . starts core.fsmonitor=./evil',
    );
    expect(out(await clone.call('shell', { command: 'git config core.fsmonitor ./worse' }))).toContain('could not write config file');
  });

  it('S1 files from which editors, shells, hooks, package managers and agents start something are named when they came or changed, and are not when only what they install did', async () => {
    const scripts = { test: 'node --test' };
    const clone = await cloneWith({
      'package.json': JSON.stringify({ scripts }),
      'lib/package.json': '{}',
      '.vscode/tasks.json': '{}',
      '.husky/pre-commit': 'x',
    });
    const made = words(
      '.envrc .npmrc .yarnrc.yml .pnpmfile.cjs .idea/workspace.xml .devcontainer/devcontainer.json .zed/tasks.json .pre-commit-config.yaml lefthook.yml .mise.toml .tool-versions ' +
        '.cargo/config.toml rust-toolchain.toml .zshrc .bashrc .exrc .dir-locals.el .githooks/pre-push .claude/settings.json .cursor/mcp.json sub/app.code-workspace .gdbinit .mvn/extensions.xml ' +
        'binding.gyp composer.json Gemfile x.gemspec setup.py pyproject.toml Podfile mix.exs build.gradle settings.gradle.kts flake.nix .helix/languages.toml .rspec .pylintrc .rubocop.yml ' +
        'vite.config.ts lib/a.config.mjs .venv/bin/activate',
    );
    const changes = { scripts: { test: './evil' }, packageManager: 'evil@1' };
    const command = [
      `for f in ${made.join(' ')}; do mkdir -p $(dirname $f); echo x > $f; done`,
      `echo '${JSON.stringify(changes)}' > package.json; echo '{"dependencies":{"a":"1"}}' > lib/package.json`,
      'echo "[]" > .vscode/tasks.json; echo y > .husky/pre-commit; echo x > src.ts; mkdir -p node_modules/b; echo "{}" > node_modules/b/package.json',
    ].join('\n');
    const result = await clone.call('shell', { command });
    const named = [...out(result).matchAll(/^- (.+) (?:is|are) new or changed: ./gmu)].flatMap(([, places]) => places?.split(', '));
    expect(named.sort()).toEqual([...made, 'package.json', '.vscode/tasks.json', '.husky/pre-commit'].sort());
    expect(result).toMatchObject({
      title: expect.stringMatching(/; it left files that start by themselves: \.bashrc, [^]*…$/u),
      metadata: { warn: true },
    });
    expect(await clone.question('shell', { command: 'npm test' })).toMatchObject({
      text: expect.stringContaining('Pith names these when it ends'),
    });
  });

  it('5 S1 what an install runs is named wherever it lies, and a link in place of a folder from which tools start something', async () => {
    const clone = await cloneWith({
      'package.json': '{"dependencies":{"x":"1"}}',
      'Cargo.toml': '[package]\nname = "a"\n',
      'pyproject.toml': '[project]\nname = "a"\n',
      'agents/settings.json': '{}',
      'p/package.json': '{"workspaces":{"packages":["target/**"]}}',
    });
    clone.person('ln -s agents .claude');
    const run = async (command: string) => out(await clone.call('shell', { command }));
    expect(await run('sed -i "s/1/2/" package.json; echo "serde = 1" >> Cargo.toml; echo "x = 1" >> pyproject.toml; true')).toBe(
      '(no output)\n[exit code 0]',
    );
    const evil = '{"scripts":{"postinstall":"./evil"}}';
    const printed = await run(
      [
        `for f in target/w venv/w node_modules/n p/target/a/b .venv/c; do mkdir -p $f; echo '${evil}' > $f/package.json; done; touch venv/w/binding.gyp`,
        `echo '{"workspaces":["target/*",".venv/c"],"dependencies":{"w":"file:venv/w"}}' > package.json`,
        'mkdir c; echo x > c/config.toml; ln -s c .cargo; echo "{}x" > agents/settings.json',
        'echo "build = \\"b.rs\\"" >> Cargo.toml; printf "[build-system]\\nbuild-backend = \\"evil\\"\\n" >> pyproject.toml',
      ].join('\n'),
    );
    for (const place of words(
      'target/w/package.json venv/w/package.json venv/w/binding.gyp p/target/a/b/package.json .venv/c/package.json package.json',
    ))
      expect(printed).toMatch(new RegExp(`[ ,]${place}(?:,| are new or changed: its scripts run)`.replaceAll('.', '\\.'), 'u'));
    expect(printed).not.toContain('node_modules/n');
    for (const place of ['.cargo', '.claude', 'Cargo.toml', 'pyproject.toml']) expect(printed).toContain(place);
  });

  it('6, 7, 8 S1 what git starts is said however long, large or late it is, and what starts by itself before all else', async () => {
    const clone = await cloneWith({ 'a.txt': '' });
    clone.person('git init -q; git config core.fsmonitor "scripts/fsm -x"; git init -q big; git init -q late');
    const printed = out(
      await clone.call('shell', {
        command: [
          'mkdir -p .git/rebase-merge; { printf "#%01100000d\\n" 0; echo exec evil; } > .git/rebase-merge/git-rebase-todo',
          'mkdir scripts; echo evil > scripts/fsm',
          'git init -q n; for i in 1 2 3 4 5 6 7 8 9; do git -C n config filter.a$i.clean cat; done',
          'git -C n config core.fsmonitor "true $(printf "%0200d" 0 | tr 0 " "); evil"; printf "#!/bin/sh" > n/.git/hooks/post-checkout',
          'git init -q l; git -C l config core.fsmonitor "begins $(printf "%0900d" 0) ends"',
          'git init -q h; { printf "[core]\\nfsmonitor = evil\\n#"; printf "%01100000d\\n" 0; } > h/.git/config',
        ].join('\n'),
      }),
    );
    for (const said of [
      /has other settings or hooks: git in \. starts core\.fsmonitor=scripts\/fsm -x, at `git rebase --continue`: a list that is too large to be read\n/u,
      /git in n starts core\.fsmonitor=true ; evil, the hook post-checkout, filter\.a1\.clean=cat, .* and 3 more\]?\n/u,
      /git in l starts core\.fsmonitor=begins 0+ … \d+ characters … 0+ ends\n/u,
      /git in h starts what config says, which is too large to be read, core\.fsmonitor=evil\n/u,
    ])
      expect(printed).toMatch(said);
    clone.person('rm -r .git/rebase-merge scripts');
    await clone.call('shell', { command: 'true' });
    expect(out(await clone.call('shell', { command: 'mkdir -p scripts; echo evil > scripts/fsm' }))).toContain(
      'starts core.fsmonitor=scripts/fsm -x',
    );
  });

  it('S1 nothing that a command makes in the place of what is read is waited for', async () => {
    const clone = await cloneWith({ 'x/.git/HEAD': '' });
    const pipes = words('y/.git y/package.json z/.git/config z/.git/commondir z/.git/hooks/a .envrc HEAD commondir');
    const command = `for f in ${pipes.join(' ')}; do mkdir -p $(dirname $f); mkfifo $f; done; truncate -s 3G big; mkdir -p w/.git; mv big w/.git/config; mkdir v src; echo gitdir: ../src > v/.git; echo made`;
    for (const each of [command, 'echo again']) expect(out(await clone.call('shell', { command: each }))).toContain('[exit code 0]');
    expect(readdirSync(clone.at('src'))).toEqual([]); // it is not a folder of git
  });

  it('S1 what a background command leaves is told while it runs', async () => {
    const clock = fakeClock();
    const clone = await cloneWith({ 'a.txt': 'a\n' }, {}, clock);
    const told: string[] = [];
    clone.kernel.events.handle('notify', ({ text }) => void told.push(text));
    await clone.call('shell', { command: 'git init -q x; echo made; sleep 600', background: true });
    await passing(clock, () => told.length > 0);
    expect(told[0]).toContain('x/.git is a new repository');
    expect(out(await clone.call('shell_output', { id: 'bg-1' }))).toMatch(/x\/\.git is a new repository[^]*\[running\]$/u);
  });

  it('S1, S2 what is left when Pith is killed is found by the next start and said once', async () => {
    const clone = await cloneWith({ 'a.txt': 'a\n' });
    const state = clone.kernel.settings.data_dir;
    const folder = stateFolder(state, 'extensions', 'project_tools', 'watched');
    const place = { root: clone.root, jail: new Jail(clone.root), state };
    const signal = new AbortController().signal;
    await new CommandWatch(place, new ProcessRecords(folder)).begin('npm run evil', null, signal);
    clone.person('git init -q x; git -C x config core.fsmonitor ./evil; echo x > .envrc');
    expect(await new CommandWatch(place, new ProcessRecords(folder)).ofKilled(signal)).toEqual([]); // its process lives
    renameSync(path.join(folder.path, folder.list()[0] as string), path.join(folder.path, `${process.pid}.1.json`));
    const next = new CommandWatch(place, new ProcessRecords(folder));
    expect(await next.ofKilled(signal)).toMatchObject([
      {
        commands: ['npm run evil'],
        lines: [expect.stringContaining('x/.git is a new repository: '), expect.stringContaining('.envrc is new or changed: a shell')],
      },
    ]);
    const { providers } = clone.kernel.host;
    const said = expect.stringMatching(
      /^(?:Warning: )?while `npm run evil` ran and Pith was ended, files came that start by themselves: x\/\.git is a new repository: /u,
    );
    const context = (await providers.active(ContextProvider)).find(({ extensionId }) => extensionId === 'project_tools');
    expect(await context?.banner?.()).toEqual(said);
    const found = (await providers.findings()).filter(({ code }) => code === 'autorun_files');
    expect(found).toMatchObject([{ severity: 'warning', message: said }]);
    expect(out(await clone.call('shell', { command: 'true' }))).toBe('(no output)\n[exit code 0]'); // the conversation has begun with it
    expect([await next.ofKilled(signal), folder.list()]).toEqual([[], []]);
  });

  it('4 S2 what is left when another Pith is killed is told by the first command of one that did not say it before, and by no other', async () => {
    const clone = await cloneWith({ 'a.txt': 'a\n' });
    const folder = stateFolder(clone.kernel.settings.data_dir, 'extensions', 'project_tools', 'watched');
    const told: string[] = [];
    clone.kernel.events.handle('notify', ({ text }) => void told.push(text));
    const { signal } = new AbortController();
    const place = { root: clone.root, jail: new Jail(clone.root), state: clone.kernel.settings.data_dir };
    await new CommandWatch(place, new ProcessRecords(folder)).begin('npm run evil', null, signal);
    clone.person('git init -q x; git -C x config core.fsmonitor ./evil');
    renameSync(path.join(folder.path, folder.list()[0] as string), path.join(folder.path, `${process.pid}.1.json`));
    const said =
      /while `npm run evil` ran and Pith was ended, files came that start by themselves: x\/\.git is a new repository: git in x starts core\.fsmonitor=\.\/evil; look at these/u;
    const result = await clone.call('shell', { command: 'echo ran; true' });
    expect(result).toMatchObject({ title: expect.stringMatching(/^Ran [^]*; while `npm run evil` ran/u), metadata: { warn: true } });
    expect(out(result)).toMatch(new RegExp(`^\\[Tell the person: ${said.source}[^]*ran\n`, 'u'));
    await until(() => told.length > 0);
    expect(told).toEqual([expect.stringMatching(said)]);
    expect(out(await clone.call('shell', { command: 'echo ran; true' }))).toBe('ran\n[exit code 0]');
    expect(folder.list()).toEqual([]);
  });
});
