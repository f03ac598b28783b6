import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { messageOf, PithError } from '../contract/errors.ts';
import { once } from '../contract/once.ts';

/** What a person decided, by the real path of a sandbox. Plain data. */
export interface TrustRecord {
  /** false: the person was asked and said no. */
  readonly sandboxes: Readonly<Record<string, boolean>>;
  /** By sandbox and extension: what its manifest may have of what it asks for. */
  readonly grants: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  /** Data folders of unknown origin that the person was asked about and did not take. */
  readonly foreignState: readonly string[];
  /** What else was agreed to once, by kind: digests. */
  readonly agreements: Readonly<Record<string, readonly string[]>>;
}

const NOTHING: TrustRecord = { sandboxes: {}, grants: {}, foreignState: [], agreements: {} };
