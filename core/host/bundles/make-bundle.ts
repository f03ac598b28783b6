/** What a bundle is made with; whoever finds one ready needs none of it. */
export { bundle } from './bundle.ts';
export { sourceDigest } from '../discovery/source-files.ts';
export { bundleToolset } from '../toolsets/toolset-bundle.ts';
export { toolsetDigest } from '../toolsets/toolset-declaration.ts';
