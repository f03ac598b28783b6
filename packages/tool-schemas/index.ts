export { ownNames, sentSchema, type SentSchema, type Work, workOfSource } from './sent-schema.ts';
export { fairShares } from './fair-shares.ts';
