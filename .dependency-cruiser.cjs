// The directions of the layout: contract ← trust ← {events, storage, models, threads} ← agents ← host ← kernel ← {cli, main}.
const above = (layer, forbidden) => ({
  name: `${layer}-knows-nothing-above`,
  severity: 'error',
  comment: `core/${layer} lies below ${forbidden.join(', ')}: give it what it needs as an argument`,
  from: { path: `^core/${layer}/` },
  to: { path: forbidden.map((name) => `^core/${name}`) },
});

const top = ['kernel', 'cli/', 'main\\.ts', 'testing/'];
const middle = ['events/', 'storage/', 'models/', 'threads/'];

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } } },
    { name: 'core-without-sandbox', severity: 'error', from: { path: '^core/' }, to: { path: '^sandbox/' } },
    above('contract', ['trust/', ...middle, 'agents/', 'host/', ...top]),
    above('trust', [...middle, 'agents/', 'host/', ...top]),
    above('events', ['agents/', 'host/', ...top]),
    above('storage', ['agents/', 'host/', ...top]),
    above('models', ['agents/', 'host/', ...top]),
    above('threads', ['agents/', 'host/', ...top]),
    above('agents', ['host/', ...top]),
    above('host', top),
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
      to: { path: '^sandbox/', pathNot: '^sandbox/extensions/$1/' },
    },
    {
      name: 'container-only-in-the-kernel',
      severity: 'error',
      from: { pathNot: '^core/kernel\\.ts$' },
      to: { path: 'node_modules/tsyringe' },
    },
    { name: 'declared-packages-only', severity: 'error', from: {}, to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] } },
    {
      name: 'production-packages-only',
      severity: 'error',
      from: { path: '^(core|sandbox)/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|sandbox/skills|sandbox/data)' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { conditionNames: ['source', 'import', 'node', 'default'], exportsFields: ['exports'] },
  },
};
