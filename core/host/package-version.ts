import { pithPackage } from '../contract/shipped-sandbox.ts';

/** Pith's own version. */
export function packageVersion(): string {
  return pithPackage().version;
}

/** Absolute path of Pith's own package. */
export function packageRoot(): string {
  return pithPackage().root;
}
