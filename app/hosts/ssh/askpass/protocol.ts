/** One question over the askpass socket: a line of JSON, answered with `{"answer": string | null}`. */
import { z } from 'zod';
import { MAX_PROMPT } from './names.ts';

export const askRequestSchema = z.strictObject({
  id: z.string().max(64),
  prompt: z.string().max(MAX_PROMPT),
  /** `confirm` for a yes or no, `none` for a mere notice; see ssh(1), SSH_ASKPASS_PROMPT. */
  hint: z.string().max(64).nullable(),
});
export type AskRequest = z.infer<typeof askRequestSchema>;
