import { defineTool, type ExtensionContext, type Tool, toolError, toolResult, z } from 'pith';
import { didYouMean } from '@pith/plain-text';

const MAX_VALUE_BYTES = 64 * 1024;
const MAX_LISTED = 200;

const key = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .refine((text) => Buffer.byteLength(text) <= 512, 'must have at most 512 bytes')
  .describe('The key of the value, such as "project.deadline".');

/** The four tools over one store. They take the store and not the context, so that a test needs nothing else. */
export function kvTools(store: ExtensionContext['kv']): readonly Tool[] {
  return [
    defineTool({
      name: 'kv_set',
      description: 'Keep a JSON value under a key, replacing what was there. It is still there in later chats.',
      input: z.object({ key, value: z.json().describe('Any JSON value.') }),
      effect: 'idempotent', // the same call twice leaves the same value
      permission: { authoring: 'admin', safeToShare: false },
      async execute({ key, value }) {
        const bytes = Buffer.byteLength(JSON.stringify(value));
        if (bytes > MAX_VALUE_BYTES)
          return toolError('value_too_large', `The value for '${key}' has ${bytes} bytes; at most ${MAX_VALUE_BYTES} can be kept`);
        await store.set(key, value);
        return toolResult({ key, stored: true }, { title: `Kept ${key}` });
      },
    }),
    defineTool({
      name: 'kv_get',
      description: 'Read the value stored under a key.',
      input: z.object({ key }),
      effect: 'read',
      permission: { authoring: 'anyone', safeToShare: false },
      async execute({ key }) {
        // A stored null reads like an absent key, so the list of keys decides.
        const value = await store.get(key);
        if (value === null && !(await store.keys(key)).includes(key)) return toolError('key_not_found', await absent(store, key));
        return { key, value };
      },
    }),
    defineTool({
      name: 'kv_list',
      description: 'List the keys of stored values, sorted.',
      input: z.object({ prefix: z.string().default('').describe('Only keys that begin with this.') }),
      effect: 'read',
      permission: { authoring: 'anyone', safeToShare: false },
      async execute({ prefix }) {
        const keys = await store.keys(prefix);
        return { keys: keys.slice(0, MAX_LISTED), total: keys.length };
      },
    }),
    defineTool({
      name: 'kv_delete',
      description: 'Forget a key and its value.',
      input: z.object({ key }),
      effect: 'idempotent',
      permission: { authoring: 'admin', safeToShare: false },
      async execute({ key }) {
        if (!(await store.delete(key))) return toolError('key_not_found', await absent(store, key));
        return { key, deleted: true };
      },
    }),
  ];
}

async function absent(store: ExtensionContext['kv'], key: string): Promise<string> {
  const keys = await store.keys();
  return `Nothing is stored under '${key}'${didYouMean(key, keys)}`;
}
