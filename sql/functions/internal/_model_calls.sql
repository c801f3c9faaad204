create or replace function loom._model_calls(p_org text) returns boolean
language plpgsql stable
as $$
begin
  return loom._model_stop(p_org, loom._now()) is null;
end
$$;
comment on function loom._model_calls(text) is
  'Whether a model may be called for the org now: unless an admin has switched that off, and up to the day''s tokens.';
