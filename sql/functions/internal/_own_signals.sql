create or replace function loom._own_signals(p_signals jsonb) returns text[]
language plpgsql immutable parallel safe
as $$
begin
  return array(
    select signal ->> 'text'
    from jsonb_array_elements(p_signals) with ordinality as told (signal, place)
    where (signal ->> 'kind' = 'message' and signal ->> 'role' in ('user', '')) or signal ->> 'kind' = 'feedback'
    order by place);
end
$$;
comment on function loom._own_signals(jsonb) is
  'What the user said themselves, in its order: messages of role user or of none, and feedback. What tools, assistants and the surroundings say creates no fact.';
