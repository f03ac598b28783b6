import type { JsonValue } from '../diagnostic.ts';
import { defineProtocol } from '../protocol.ts';

/** One question of a set-up. */
export interface SetupField {
  /** snake_case; also what `--set name=value` says. */
  readonly name: string;
  readonly description: string;
  readonly kind: 'text' | 'number' | 'boolean' | 'choice' | 'secret';
  readonly choices?: readonly string[];
  /** For `secret`: the declared name under which the value is kept. It never reaches the extension by any other way than `getSecret`. */
  readonly secret?: string;
  /** What holds now; null: nothing has been set. Never set for secrets. */
  readonly current?: JsonValue;
}

export interface SetupSchema {
  readonly title: string;
  readonly fields: readonly SetupField[];
}

/**
 * Settings by dotted path: `extensions.<id>.…`, `providers.<prefix>.…` of the prefixes that it offers, `models.…` where it offers models.
 * null takes one out.
 */
export type SettingsChange = Readonly<Record<string, JsonValue>>;

/** Can be set up by a person (`pith setup ID`) or by an agent that a person approves. */
export interface SetupProvider {
  getSetupSchema(): SetupSchema | Promise<SetupSchema>;
  /** What a value of a field means for the settings. The kernel checks and writes it. Rejects with why the value is refused. */
  applyConfig(name: string, value: JsonValue): SettingsChange | Promise<SettingsChange>;
  /** Called when all has been written and the extension reloaded: a line for the person, or null. Rejects with what does not work yet. */
  onSetupComplete(): Promise<string | null> | string | null;
}

export const SetupProvider = defineProtocol<SetupProvider>(
  'setup',
  {
    getSetupSchema: { kind: 'method', signature: 'getSetupSchema(): SetupSchema' },
    applyConfig: { kind: 'method', signature: 'applyConfig(name: string, value: JsonValue): SettingsChange' },
    onSetupComplete: { kind: 'method', signature: 'onSetupComplete(): Promise<string | null>', timeoutMs: 30_000 },
  },
  { inProcessOnly: true },
);
