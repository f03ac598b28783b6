import type { ProviderFacts, Bundle, SurfaceDescriptor, Folders } from '../kernel/index.ts';
import type { Declaration, ExtensionConfig } from '../declarations/index.ts';
import type { SharedSecret } from '../trust/index.ts';

/** All that the process of an extension is given before its code is loaded. Plain data. */
export interface Setup {
  readonly declaration: Declaration;
  readonly number: number;
  readonly bundle: Bundle;
  readonly places: Folders;
  readonly config: Omit<ExtensionConfig, 'where'>;
  /** How messages name the keys of `config`, and what is before the names of others. */
  readonly names: { readonly [dotted: string]: string };
  /** Of the declared names that are set. */
  readonly secrets: { readonly [name: string]: readonly SharedSecret[] };
  readonly providers: readonly ProviderFacts[];
}

/** What an extension's process answers to `initialize`. */
export interface Offer {
  readonly descriptor: SurfaceDescriptor;
  /** Names of the operations that can be called. */
  readonly operations: readonly string[];
}

/** The names of a configuration's keys in messages, for a process that has no settings. */
export function placesOf({ config, where }: ExtensionConfig): Record<string, string> {
  const places: Record<string, string> = { '': where('') };
  const visit = (value: unknown, dotted: string): void => {
    if (dotted !== '') places[dotted] = where(dotted);
    if (typeof value !== 'object' || value === null) return;
    for (const [key, part] of Object.entries(value)) visit(part, dotted === '' ? key : `${dotted}.${key}`);
  };
  visit(config, '');
  places['*'] = where('*');
  return places;
}

/** As `ExtensionConfig.where`, from what `placesOf` made. */
export function whereIn(places: Readonly<Record<string, string>>): (dotted: string) => string {
  return (dotted) => places[dotted] ?? (places['*'] ?? '*').replace(/\*$/, () => dotted);
}
