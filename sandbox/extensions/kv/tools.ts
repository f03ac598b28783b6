import { defineTool, type ExtensionContext, type Tool, toolError, toolResult, type TurnInfo, z } from 'pith';
import { didYouMean } from '@pith/plain-text';

const MAX_VALUE_BYTES = 64 * 1024;
const MAX_LISTED = 200;

/** With this the keys of all users begin but those of the person at the terminal, whose keys are as they were before users had their own. */
const OTHERS = String.fromCodePoint(1);

const key = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .refine((text) => Buffer.byteLength(text) <= 512, 'must have at most 512 bytes')
  .refine((text) => !text.startsWith(OTHERS), 'must not begin with a control character')
  .describe('The key of the value, such as "project.deadline".');

/** The four tools over one store, in which each user has values of their own. */
export function kvTools(all: ExtensionContext['kv']): readonly Tool[] {
  return [
    defineTool({
      name: 'kv_set',
      description:
        'Keep a JSON value under a key, replacing what was there. It is still there in later chats of this user; others have their own.',
      input: z.object({ key, value: z.json().describe('Any JSON value.') }),
      effect: 'idempotent', // the same call twice leaves the same value
      permission: { authoring: 'admin', safeToShare: false },
      async execute({ key, value }, { turn }) {
        const store = storeOf(all, turn);
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
      async execute({ key }, { turn }) {
        const store = storeOf(all, turn);
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
      async execute({ prefix }, { turn }) {
        const keys = await storeOf(all, turn).keys(prefix);
        return { keys: keys.slice(0, MAX_LISTED), total: keys.length };
      },
    }),
    defineTool({
      name: 'kv_delete',
      description: 'Forget a key and its value.',
      input: z.object({ key }),
      effect: 'idempotent',
      permission: { authoring: 'admin', safeToShare: false },
      async execute({ key }, { turn }) {
        const store = storeOf(all, turn);
        if (!(await store.delete(key))) return toolError('key_not_found', await absent(store, key));
        return { key, deleted: true };
      },
    }),
  ];
}

/** The values of one user. */
function storeOf(all: ExtensionContext['kv'], { userId }: TurnInfo): ExtensionContext['kv'] {
  const own = userId === 'local' ? '' : `${OTHERS}${JSON.stringify(userId)}`; // a JSON string says where it ends
  return {
    get: (name) => all.get(own + name),
    set: (name, value) => all.set(own + name, value),
    delete: (name) => all.delete(own + name),
    async keys(prefix = '') {
      const keys = await all.keys(own + prefix);
      return own === '' ? keys.filter((each) => !each.startsWith(OTHERS)) : keys.map((each) => each.slice(own.length));
    },
  };
}

async function absent(store: ExtensionContext['kv'], key: string): Promise<string> {
  const keys = await store.keys();
  return `Nothing is stored under '${key}'${didYouMean(key, keys)}`;
}
