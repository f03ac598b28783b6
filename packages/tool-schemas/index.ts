export { ownNames, sentSchema, type SentSchema } from './sent-schema.ts';
export { fairShares } from './fair-shares.ts';
