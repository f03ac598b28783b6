/** The modules of core, each with those that it may import. */
const MODULES = {
  contract: [],
  trust: ['contract'],
  declarations: ['contract', 'trust'],
  kernel: ['contract', 'trust', 'declarations'],
  loader: ['contract', 'trust', 'declarations', 'kernel'],
  process: ['contract', 'trust', 'declarations', 'kernel'],
  store: ['contract', 'trust', 'declarations', 'kernel'],
  models: ['contract', 'trust', 'declarations', 'kernel'],
  durable: ['contract', 'trust', 'declarations', 'kernel', 'store'],
  agent: ['contract', 'trust', 'declarations', 'kernel', 'store', 'durable', 'models'],
  compose: ['contract', 'trust', 'declarations', 'kernel', 'loader', 'process', 'store', 'models', 'durable', 'agent'],
  cli: ['contract', 'trust', 'declarations', 'kernel', 'loader', 'process', 'store', 'models', 'durable', 'agent', 'compose'],
  testing: ['contract', 'trust', 'declarations', 'kernel', 'loader', 'process', 'store', 'models', 'durable', 'agent', 'compose'],
  embed: ['contract', 'trust', 'declarations', 'kernel', 'loader', 'process', 'store', 'models', 'durable', 'agent', 'compose'],
};

/** Modules that the others reach by their `index.ts` only. */
const DOORS = [
  'contract',
  'trust',
  'declarations',
  'agent',
  'kernel',
  'loader',
  'process',
  'store',
  'models',
  'durable',
  'compose',
  'cli',
  'testing',
  'embed',
];

const direction = ([name, below]) => ({
  name: `${name}-knows-nothing-above`,
  severity: 'error',
  comment: `core/${name} may import ${below.join(', ') || 'no other module'}: give it what else it needs as an argument`,
  from: { path: `^core/${name}/` },
  to: { path: '^core/', pathNot: `^core/(?:${[name, ...below].join('|')})/` },
});

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      comment: 'move what both need into a lower file; imports of types count',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-side-doors',
      severity: 'error',
      comment: 'import what the module gives in its index.ts, or let it give that',
      from: { path: '^core/([^/]+)' },
      to: { path: `^core/(?:${DOORS.join('|')})/`, pathNot: ['^core/$1/', '^core/[^/]+/index\\.ts$'] },
    },
    { name: 'core-without-sandbox', severity: 'error', from: { path: '^core/' }, to: { path: '^sandbox/' } },
    ...Object.entries(MODULES).map(direction),
    {
      name: 'packages-know-nothing-of-pith',
      severity: 'error',
      from: { path: '^packages/' },
      to: { path: '^(core|sandbox|test|scripts)/' },
    },
    {
      name: 'packages-by-their-door',
      severity: 'error',
      from: { path: '^(core|sandbox|packages/([^/]+))/' },
      to: { path: '^packages/', pathNot: '^packages/(?:[^/]+/index\\.ts$|$2/)' },
    },
    {
      name: 'extensions-only-know-the-contract',
      severity: 'error',
      from: { path: '^sandbox/extensions/' },
      to: { path: ['^core/', '^test/', '^scripts/'], pathNot: '^core/contract/index\\.ts$' },
    },
    {
      name: 'extensions-keep-to-their-folder',
      severity: 'error',
      from: { path: '^sandbox/extensions/([^/]+)/' },
      to: { path: '^sandbox/', pathNot: '^sandbox/extensions/(?:$1/|[^/]+/contract\\.ts$)' },
    },
    {
      name: 'container-only-in-compose',
      severity: 'error',
      from: { pathNot: '^core/compose/' },
      to: { path: 'node_modules/tsyringe' },
    },
    { name: 'declared-packages-only', severity: 'error', from: {}, to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] } },
    {
      name: 'production-packages-only',
      severity: 'error',
      comment: 'the page has what it needs built into it',
      from: { path: '^(core|packages|sandbox)/', pathNot: '^sandbox/extensions/web_channel/page/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|sandbox/skills|sandbox/data)' },
    combinedDependencies: true,
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { conditionNames: ['source', 'import', 'node', 'default'], exportsFields: ['exports'] },
  },
};
