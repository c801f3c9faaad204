create or replace function loom._user_profile_fits(p_profile jsonb) returns boolean
language plpgsql immutable parallel safe
as $$
declare
  v_over record;
begin
  select * into v_over
  from (values
    ('facts', 200, jsonb_array_length(p_profile -> 'facts')),
    ('topics', 50, jsonb_array_length(p_profile -> 'preferences' -> 'topics'))
  ) as counted (what, most, value)
  where value > most
  limit 1;
  if found then
    raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
      detail = jsonb_build_object('what', v_over.what, 'limit', v_over.most, 'value', v_over.value)::text,
      hint = 'Forget what is no longer needed, in the same request if you like: the whole is judged after the merge.';
  end if;
  return true;
end
$$;
comment on function loom._user_profile_fits(jsonb) is
  'LM406 when a profile has more than 200 facts or 50 topics: nothing is ever cut off silently.';
