import { type ExtensionContext, z } from 'pith';
import { once } from '@pith/promises';

export const config = once(() =>
  z.strictObject({
    /** So many proposals of one skill may wait for a person. */
    most_open: z.int().min(1).max(50).default(3),
    /** Days after which a proposal that nobody decided expires. */
    expire_days: z.int().min(30).max(3650).default(30),
    /** Days in which a rejected change is refused without asking a person again. */
    refuse_days: z.int().min(0).max(3650).default(30),
    /** A change of more lines, or of so many more tokens, is called a rewrite and shown whole. */
    rewrite: z.strictObject({ lines: z.int().min(1).default(60), tokens: z.int().min(1).default(400) }).prefault({}),
    /** The agent that reads each proposal first: it recommends or rejects. */
    reviewer: z.string().min(1).optional(),
    /** Whether it may approve too. Never what was written after text from outside. */
    reviewer_may_approve: z.boolean().default(false).meta({ by_hand: 'says what of skills is taken without a question' }),
  }),
);

export type Context = ExtensionContext<z.output<ReturnType<typeof config>>>;
