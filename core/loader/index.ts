export { createLoader } from './bundle-store.ts';
export { type BundleRequest, bundle } from './bundle.ts';
export { importBundle } from './contract-shim.ts';
export { shipExtensions } from './ship-extensions.ts';
