/** What manifests, agents and settings declare, read from files and kept in them. Nothing of an extension runs here. */
export {
  CONTRACT_FILE,
  handledKey,
  MANIFEST_FILE,
  extensionsOf,
  handlerNames,
  isDynamic,
  namesOfExtension,
  isContractOnly,
  isExtension,
  isGuard,
  isWithheld,
  keepsNames,
  shortId,
  type Declaration,
  type Discovery,
  type Failure,
  type FolderRecord,
  grantedAsks,
} from './declaration.ts';
export { dynamicDeclaration } from './dynamic.ts';
export { discover, type DiscoverOptions, type Root } from './discover.ts';
export { type IndexFile, openIndex } from './index-file.ts';
export { RECORDS_FILE, recordsOf, shippedRecords, SURFACES_FILE } from './shipped-records.ts';
export { lastGoodIn, quarantineIn, type Quarantine, type Quarantined } from './quarantine.ts';
export { digestWith } from './definitions.ts';
export { dependencyFailures, isBlocked } from './dependencies.ts';
export { digestOf, sourceDigest, stampFolder } from './source-files.ts';
export { interfaceOf, KERNEL_PROTOCOLS, KERNEL_TOPICS } from './kernel-names.ts';
export { buildOf, packageRoot, packageVersion, shippedSandbox } from './package-version.ts';
export { type Claims, type ExtensionConfig, claimsOf, configOf, configuredIds, enabledBy, withIdsMeant } from './config-of.ts';
export { DEFAULT_SETTINGS, type LoadedSettings, type Settings, type SettingsOptions, loadSettings, readSettingsFile } from './settings.ts';
export type { SettingsInput } from './settings-schema.ts';
export { askedAlways, unknownNames } from './unknown-names.ts';
export { agentSpecOf, KERNEL_AGENT_KEYS } from './agents.ts';
export { isAdmin, LOCAL_USER, mayChangePith, userIn } from './user.ts';
/** The shape of settings; with it comes zod. */
export const loadSettingsSchema = () => import('./settings-schema.ts');
/** Writes settings into a file; with it comes yaml. */
export const loadSettingsEdit = () => import('./settings-edit.ts');
