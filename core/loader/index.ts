export { createLoader } from './bundle-store.ts';
export { importBundle } from './contract-shim.ts';
export { shipExtensions } from './ship-extensions.ts';
