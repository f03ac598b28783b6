/** Trust: whether an opened folder is the person's, what a manifest is granted, who gets a secret. No other module decides any of it. */
export {
  askedPath,
  askText,
  credentialPlaces,
  ENVIRONMENT_FILE,
  examinedAsk,
  GUARD_ASK,
  manifestAsks,
  narrowed,
  NETWORK_REACH,
  protectedPlaces,
  whyNever,
  writableBy,
} from './grants.ts';
export { declaredPrefixes, DEFAULT_LIMITS, ENABLED, manifestSchema, RESERVED_IDS, takesNamedServers, type Manifest } from './manifest.ts';
export { HARMLESS_SETTINGS, harmlessSettings, weakened, reached, type Weakened } from './safeguards.ts';
export {
  requireTrust,
  decideProject,
  decideState,
  distrustSandbox,
  hasBareState,
  trustOf,
  trustSandbox,
  type Granted,
  type StatePlace,
  type Trust,
} from './sandbox-trust.ts';
export { gitRootOf, projectFilesThere } from './project-files.ts';
export { type EnvironmentFile, openEnvironmentFile } from './environment-file.ts';
export { openTrustFile, userHome } from './trust-file.ts';
export { openPermissionsFile, type ProjectPermission, type ProjectPermissions } from './permissions-file.ts';
export { adoptState, stateOwnership } from './state-marker.ts';
export {
  type CleanStream,
  type Cleaning,
  DEFAULT_RECIPIENT,
  askerOf,
  concerns,
  recipientOf,
  type StoredSecret,
  openSecretsFile,
  type SecretsFile,
  type SharedSecret,
  createSecrets,
  type Secrets,
  type SecretSources,
} from './secrets.ts';
