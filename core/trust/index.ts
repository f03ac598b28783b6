/** Trust: whether what a person opened is theirs, and what a manifest may have. The one place that decides; everything else asks here. */
export { askText, credentialPlaces, whyNever } from './grants.ts';
export { harmlessSettings, loosened, reached, type Loosened } from './safeguards.ts';
export {
  decideState,
  distrustSandbox,
  trustOf,
  trustSandbox,
  type Granted,
  type StatePlace,
  type Trust,
  type TrustLevel,
  type TrustOptions,
} from './sandbox-trust.ts';
export { openTrustFile, type TrustFile } from './trust-file.ts';
