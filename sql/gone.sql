-- Functions that no file makes any more. They go in the transaction in which the functions that called them are
-- replaced, so that no call meets one without the other.
drop function if exists loom._admit(text, jsonb);
drop function if exists loom._reach(loom.caller, loom.operation, jsonb, jsonb);
drop function if exists loom._user_lock(text, bigint);
drop function if exists loom._text_changed(loom.memory[]);
drop function if exists loom._pack_answer(text[], integer, jsonb[], bigint, integer, jsonb, text);
drop function if exists loom._pack_frame(text, text);
drop function if exists loom._identifier_refused(jsonb, text, integer);
drop function if exists loom._working_memory_layers(loom.caller, boolean);
