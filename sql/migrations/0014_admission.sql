-- What a request passes on its way in is fewer and larger expressions (decision 25): these have other arguments now.
drop function if exists loom._admit(text, jsonb);
drop function if exists loom._reach(loom.caller, loom.operation, jsonb, jsonb);
drop function if exists loom._user_lock(text, bigint);
