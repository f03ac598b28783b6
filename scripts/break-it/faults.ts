/** A text of the code that is replaced by another. */
export interface Place {
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

/** One kind of fault, and a test that must fail while it is there. Where that test has moved or is called otherwise, `tests` and `notices` change. */
export interface Fault extends Place {
  readonly name: string;
  /** What goes wrong. */
  readonly kind: string;
  /** A second place, where two guards stand one behind the other. */
  readonly also?: Place;
  /** Files. */
  readonly tests: readonly string[];
  /** Part of the titles of the tests in them that are run; one of these must fail. */
  readonly notices: string;
  /** They run what dist/ holds, which is built of the broken code. */
  readonly built?: true;
}

/** Each is noticed by a test that costs little, and by one of each way in which Pith is tested. */
export const FAULTS: readonly Fault[] = [
  {
    name: 'dependency',
    kind: 'what depends on an extension that cannot run is started all the same',
    file: 'core/kernel/lifecycle/actor.ts',
    find: 'if (dependency && !dependency.pending && !canRun(stateOf(slots, dependency))) return dependency;',
    replace: '',
    also: { file: 'core/kernel/lifecycle/lifecycle.ts', find: 'if (failed) return messageOf(failed.reason);', replace: '' },
    tests: ['test/core/kernel/load.test.ts'],
    notices: 'K2 blocks dependents of what fails at load',
  },
  {
    name: 'approval',
    kind: 'a call that a person must be asked about runs unasked',
    file: 'core/agent/turn/calls.ts',
    find: 'const decision = ask === null ? RUNS :',
    replace: 'const decision = ask === null || ask !== null ? RUNS :',
    tests: ['test/journeys/approvals.test.ts'],
    notices: 'K50 U13 a question is kept',
    built: true,
  },
  {
    name: 'resume',
    kind: 'a write that was started before a kill -9 is repeated',
    file: 'core/agent/turn/open-turn.ts',
    find: "record.state === 'started' && record.effect === 'write'",
    replace: "record.state === 'started' && record.effect === undefined",
    tests: ['test/journeys/resume.test.ts'],
    notices: 'K45 E1 continues after kill -9 in a call',
    built: true,
  },
  {
    name: 'queue',
    kind: 'messages of one thread overtake each other',
    file: 'core/agent/threads/queue.ts',
    find: 'turns.place(threadId)',
    replace: 'turns.place(`${threadId}${Math.random()}`)',
    tests: ['test/reliability/crowd.test.ts'],
    notices: 'who waits is served before who comes',
  },
  {
    name: 'commit',
    kind: 'a write is acknowledged before it is on disk',
    file: 'core/store/writer.ts',
    find: "if (database.inTransaction) database.run('COMMIT');",
    replace: "if (database.inTransaction) setTimeout(() => void (database.inTransaction && database.run('COMMIT')), 20);",
    tests: ['test/reliability/kill.test.ts'],
    notices: 'kill -9 at random points of conversations',
  },
  {
    name: 'fence',
    kind: 'a process that lost its lease goes on writing',
    file: 'core/store/leases.ts',
    find: "return store.get('SELECT 1 FROM leases WHERE name = ? AND owner = ?', name, holder) !== null;",
    replace: 'return true;',
    tests: ['test/core/agent/fenced-turn.test.ts'],
    notices: 'B8: stores nothing more when its',
  },
  {
    name: 'secret',
    kind: 'a secret in another form than its own is shown',
    file: 'core/trust/secrets.ts',
    find: 'return [...new Set(forms)];',
    replace: 'return forms.slice(0, 1);',
    tests: ['test/reliability/secrets.test.ts'],
    notices: 'K61 is in no prompt, event, error, log or file of the sandbox',
  },
  {
    name: 'trust',
    kind: 'a sandbox that nobody trusted is opened as if somebody had',
    file: 'core/trust/sandbox-trust.ts',
    find: 'isAgreed || (isBare && !brings()) ?',
    replace: 'recorded !== false ?',
    tests: ['test/core/trust/hostile-clone.test.ts'],
    notices: 'T2 works for what ships, and lists its skills as untrusted',
  },
  {
    name: 'traversal',
    kind: 'a path of a skill leads out of its folder',
    file: 'packages/safe-files/jail.ts',
    find: 'isSame(opened, statsIn(folder, name), linked)',
    replace: 'opened !== null',
    also: {
      file: 'packages/safe-files/jail.ts',
      find: 'const FILE = constants.O_RDONLY | constants.O_NOFOLLOW |',
      replace: 'const FILE = constants.O_RDONLY |',
    },
    tests: ['test/reliability/traversal.test.ts'],
    notices: 'S44 read_skill_resource reads nothing of them',
    built: true,
  },
  {
    name: 'reload',
    kind: 'an edit of an extension is not seen by the next look',
    file: 'core/kernel/reload/refresh.ts',
    find: 'return canonicalJson([digest, directory,',
    replace: 'return canonicalJson([digest === null, directory,',
    tests: ['test/core/kernel/reload.test.ts'],
    notices: 'K20 takes an edit of a helper file, fresh',
  },
  {
    name: 'process end',
    kind: 'nobody hears that the process of an extension has ended',
    file: 'core/process/remote-host.ts',
    find: 'if (!ending) onLost?.(',
    replace: 'if (ending) onLost?.(',
    tests: ['test/reliability/fault-matrix.test.ts'],
    notices: "K10 'tool call' × 'heap: objects'",
    built: true,
  },
  {
    name: 'supervisor',
    kind: 'a server that died is not started again',
    file: 'core/cli/serve/serve.ts',
    find: "if (end.how === 'stopped') return 0;",
    replace: "if (end.how !== 'restart') return 0;",
    tests: ['test/journeys/serve.test.ts'],
    notices: 'K21 starts a kernel that died again',
    built: true,
  },
  {
    name: 'frames',
    kind: 'what a process sends throws in the kernel',
    file: 'packages/process-rpc/peer.ts',
    find: "else broken('it sent an invalid message');",
    replace: "else throw new Error('it sent an invalid message');",
    tests: ['test/reliability/frames.test.ts'],
    notices: 'T11 F8: mutated frames',
  },
  {
    name: 'typo',
    kind: 'a misspelt key is told without the one that was meant',
    file: 'packages/plain-text/nearest.ts',
    find: "return names.length === 0 ? '' :",
    replace: "return names.length > 0 ? '' :",
    tests: ['test/journeys/cli.test.ts'],
    notices: 'use.md 3: a typo takes no more than its key',
    built: true,
  },
  {
    name: 'catalog',
    kind: 'the catalog of many skills forgets those that it has no room for',
    file: 'sandbox/extensions/skill_registry/catalog/catalog.ts',
    find: 'const end = [USE, moreLine(skills.length - shown.size)];',
    replace: 'const end = [USE];',
    tests: ['test/extensions/skill_registry/catalog.test.ts'],
    notices: 'R12 keeps the lines of pinned skills',
  },
  {
    name: 'precedence',
    kind: 'of two skills with one id the wrong one is used',
    file: 'sandbox/extensions/skill_registry/scan/precedence.ts',
    find: 'return candidates.map((candidate) => {',
    replace: 'return [...candidates].reverse().map((candidate) => {',
    tests: ['test/journeys/sources.test.ts'],
    notices: 'S10 S11 S12 S13 S14 list --all',
  },
  {
    name: 'prompt',
    kind: 'the parts of a prompt stand in another order',
    file: 'core/agent/prompt/instructions.ts',
    find: "    { name: 'prompt', text: withBodies(trimmed(rendered), bodies) },\n    { name: 'instructions', text: trimmed(spec.instructions) },",
    replace:
      "    { name: 'instructions', text: trimmed(spec.instructions) },\n    { name: 'prompt', text: withBodies(trimmed(rendered), bodies) },",
    tests: ['test/journeys/request.test.ts'],
    notices: 'S50 S24 K63 holds skill bodies',
  },
  {
    name: 'template',
    kind: 'a template uses a name that is none',
    file: 'packages/guarded-templates/compiling.ts',
    find: 'const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;',
    replace: 'const NAME = /^/;',
    tests: ['test/reliability/hostile-templates.test.ts'],
    notices: 'T9 F1 refuses a hostile name in',
  },
  {
    name: 'exit code',
    kind: 'a command that failed says that all is well',
    file: 'core/cli/commands/doctor.ts',
    find: 'return report.ok ? 0 : 1;',
    replace: 'return 0;',
    tests: ['test/journeys/cli.test.ts'],
    notices: 'doctor, with exit code 1 for a broken skill',
  },
  {
    name: 'saved skill',
    kind: 'somebody runs a draft of another person',
    file: 'sandbox/extensions/saved_skills/domain/permissions.ts',
    find: "? 'yes' : 'not_pinned'",
    replace: "? 'yes' : 'yes'",
    tests: ['test/extensions/saved_skills/runs.test.ts'],
    notices: 'M9 M10 M11 M12 others run the pinned version',
  },
];
