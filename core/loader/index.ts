export { createLoader } from './bundle-store.ts';
export { importBundle } from './contract-shim.ts';
export { buildGraph } from './build-graph.ts';
